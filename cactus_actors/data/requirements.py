"""The libraries of the extra `data`."""

from __future__ import annotations

from importlib.util import find_spec

from cactus_actors.protocol.errors import ConfigurationInvalid


def require_pyarrow() -> None:
    """Raise ConfigurationInvalid if pyarrow, of the extra `data`, is not installed."""
    if find_spec("pyarrow") is None:
        raise ConfigurationInvalid("tables need pyarrow: pip install 'cactus-actors[data]'")

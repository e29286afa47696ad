"""The libraries of the extra `data`."""

from __future__ import annotations

from importlib.util import find_spec

from cactus_actors.protocol.errors import ConfigurationInvalid


def require_pyarrow() -> None:
    """Raise ConfigurationInvalid if pyarrow, of the extra `data`, is not installed."""
    if find_spec("pyarrow") is None:
        raise ConfigurationInvalid("tables need pyarrow: pip install 'cactus-actors[data]'")


def require_ray_data() -> None:
    """Raise ConfigurationInvalid if what Ray Data needs, of the extras `data` and `ray`, is not installed."""
    require_pyarrow()
    if find_spec("ray") is None or find_spec("pandas") is None:
        raise ConfigurationInvalid("--ray needs Ray and pandas: pip install 'cactus-actors[data,ray]'")

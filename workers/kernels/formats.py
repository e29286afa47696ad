"""The table of weight formats."""

from __future__ import annotations

from cactus_actors.protocol.errors import ConfigurationInvalid
from workers.kernels.float32 import Float32Format
from workers.kernels.matrix import WeightFormat


def weight_format(name: str) -> WeightFormat:
    """The weight format of that name; ConfigurationInvalid says which there are."""
    if name == "float32":
        return Float32Format()
    raise ConfigurationInvalid(f"weights {name!r} are not supported yet; choose float32", param="weights")

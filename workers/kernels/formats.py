"""The table of weight formats."""

from __future__ import annotations

from cactus_actors.protocol.errors import ConfigurationInvalid
from workers.kernels.float32 import Float32Format
from workers.kernels.instruction_sets import choose_instruction_set
from workers.kernels.int8 import Int8Format
from workers.kernels.matrix import WeightFormat


def weight_format(name: str) -> WeightFormat:
    """The format of that name with the kernels for this CPU; ConfigurationInvalid says which there are."""
    instruction_set = choose_instruction_set()
    match name:
        case "float32":
            return Float32Format(instruction_set)
        case "int8":
            return Int8Format(instruction_set)
    raise ConfigurationInvalid(
        f"weights {name!r} are not supported yet; choose float32 or int8", param="weights"
    )

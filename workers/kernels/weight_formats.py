"""The table of weight formats."""

from __future__ import annotations

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.kernels.float_formats import BFLOAT16, FLOAT32
from cactus_actors.workers.kernels.instruction_sets import choose_instruction_set
from cactus_actors.workers.kernels.int4 import INT4
from cactus_actors.workers.kernels.int8 import INT8
from cactus_actors.workers.kernels.matrix import PackedFormat

FORMATS = {"float32": FLOAT32, "bfloat16": BFLOAT16, "int8": INT8, "int4": INT4}


def weight_format(name: str) -> PackedFormat:
    """The format of that name with the kernels for this CPU; raises ConfigurationInvalid, which lists the formats."""
    if name not in FORMATS:
        raise ConfigurationInvalid(f"weights {name!r}: choose one of {', '.join(FORMATS)}", param="weights")
    return FORMATS[name][choose_instruction_set()]

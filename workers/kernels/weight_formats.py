"""The table of weight formats."""

from __future__ import annotations

from dataclasses import replace

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.kernels.float_formats import BFLOAT16, FLOAT32
from cactus_actors.workers.kernels.instruction_sets import choose_instruction_set
from cactus_actors.workers.kernels.int4 import INT4
from cactus_actors.workers.kernels.int8 import INT8, INT8_IN_POWERS
from cactus_actors.workers.kernels.matrix import PackedFormat
from cactus_actors.workers.kernels.mxfp4 import MXFP4

FORMATS = {"float32": FLOAT32, "bfloat16": BFLOAT16, "int8": INT8, "int4": INT4}
FORMATS_OF_MXFP4 = FORMATS | {
    "int8": INT8_IN_POWERS,
    "int4": {instructions: replace(chosen, name="int4") for instructions, chosen in MXFP4.items()},
}
"""The formats of weights that the files have in MXFP4: int4 keeps MXFP4, int8 has scales that are powers of two."""


def weight_format(name: str, *, is_mxfp4: bool = False) -> PackedFormat:
    """The format of that name with the kernels for this CPU; raises ConfigurationInvalid, which lists the formats."""
    if name not in FORMATS:
        raise ConfigurationInvalid(f"weights {name!r}: choose one of {', '.join(FORMATS)}", param="weights")
    return (FORMATS_OF_MXFP4 if is_mxfp4 else FORMATS)[name][choose_instruction_set()]

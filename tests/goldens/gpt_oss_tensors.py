"""The tensors of a gpt-oss directory under the names, and in the order of rows, that llama.cpp's converter knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.goldens.mxfp4_blocks import as_in_gguf

Tensors = dict[str, NDArray[Any]]


def for_converter(tensors: Tensors) -> Tensors:
    """Matrices (experts, outputs, inputs) of gate, up and down; those in MXFP4 are bytes, as GGUF files have them."""
    found: Tensors = {}
    for name, values in tensors.items():
        if name.endswith("sinks"):
            found[f"{name}.weight"] = values
        elif ".experts." not in name:
            found[name] = values
        elif name.endswith("_bias"):
            found |= _parts(name.removesuffix("_bias"), values, "bias", axis=1)
        elif name.endswith("_blocks"):
            stack = name.removesuffix("_blocks")
            stored = as_in_gguf(values, tensors[f"{stack}_scales"])
            found |= _parts(stack, stored, "weight", axis=1)
        elif not name.endswith("_scales"):
            found |= _parts(name, values.swapaxes(1, 2), "weight", axis=1)
    return found


def _parts(stack: str, values: NDArray[Any], kind: str, axis: int) -> Tensors:
    """Gate and up, whose outputs take turns, or the only part."""
    if not stack.endswith("gate_up_proj"):
        return {f"{stack}.{kind}": values}
    turns = [np.take(values, range(turn, values.shape[axis], 2), axis) for turn in (0, 1)]
    experts = stack.removesuffix("gate_up_proj")
    return {f"{experts}gate_proj.{kind}": turns[0], f"{experts}up_proj.{kind}": turns[1]}

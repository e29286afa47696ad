"""Experts of directories in one tensor for a projection of all: outputs of two take part, or inputs come first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.checked_files import invalid
from cactus_actors.workers.families.family import Family
from cactus_actors.workers.loading import mxfp4_blocks
from cactus_actors.workers.loading.safetensors_file import SafetensorsTensor, widened
from cactus_actors.workers.loading.tensor_source import StoredTensor
from cactus_actors.workers.spec.experts_config import STACK
from cactus_actors.workers.spec.model_config import Experts, ModelConfig

BLOCKS, SCALES = "_blocks", "_scales"


def stack_of(family: Family, name: str) -> str | None:
    """The name in `family.interleaved_names` of a tensor, or of a part of one in MXFP4; None if it has none."""
    stack = _in_layer(name).removesuffix(BLOCKS).removesuffix(SCALES)
    return stack if stack in family.interleaved_names else None


def is_transposed(family: Family, config: ModelConfig, name: str, shape: tuple[int, ...]) -> bool:
    """True for a stack of `family.stacked_names` that has the inputs of its matrices before the outputs.

    A stack that may be either has the outputs first, as for transformers.
    """
    parts = family.stacked_names.get(_in_layer(name))
    if parts is None or not family.has_transposed_stacks or config.experts is None or len(shape) != 3:
        return False
    sizes = config.hidden_size, config.experts.ffn_size
    outputs, inputs = (len(parts) * sizes[1], sizes[0]) if len(parts) > 1 else sizes
    return shape[1:] == (inputs, outputs) != (outputs, inputs)


def expert_tensors(
    family: Family, experts: Experts, stacks: Mapping[str, SafetensorsTensor]
) -> Iterator[tuple[str, StoredTensor]]:
    """Names and tensors of all experts in `stacks`, interleaved or transposed; raises ModelFileInvalid."""
    for name, tensor in stacks.items():
        stack = stack_of(family, name)
        if stack is None:
            yield from _transposed_parts(tensor, name, family, experts.num_experts)
            continue
        parts = [name[: name.index(stack)] + part for part in family.interleaved_names[stack]]
        is_mxfp4 = name.endswith((BLOCKS, SCALES))
        if is_mxfp4 != experts.is_mxfp4 and not stack.endswith("_bias"):
            found = f"tensor {tensor.name!r} is {'' if is_mxfp4 else 'not '}in MXFP4"
            raise invalid(tensor.file.path, f"{found}, unlike what quantization_config in config.json says")
        if not is_mxfp4:
            yield from _plain_parts(tensor, parts, experts.num_experts)
        elif name.endswith(BLOCKS):
            scales = stacks.get(f"{name.removesuffix(BLOCKS)}{SCALES}")
            yield from _mxfp4_parts(tensor, scales, parts, experts.num_experts)


def _transposed_parts(
    tensor: SafetensorsTensor, name: str, family: Family, num_experts: int
) -> Iterator[tuple[str, StoredTensor]]:
    """Of a stack (experts, inputs, outputs), in which the outputs of each part are side by side."""
    stack = _in_layer(name)
    parts = [name[: name.index(stack)] + part for part in family.stacked_names[stack]]
    _, num_inputs, num_outputs = _checked_shape(tensor, 3, -1, parts, num_experts)
    height = num_outputs // len(parts)
    for expert, entry in enumerate(tensor.rows()):
        for index, part in enumerate(parts):
            read = partial(_read_plain, entry, slice(index * height, (index + 1) * height))
            stored = StoredTensor(tensor.file.path, tensor.name, (height, num_inputs), read)
            yield part.replace(STACK, f".{expert}."), stored


def _in_layer(name: str) -> str:
    """The name of a tensor within its layer."""
    return name.partition("layers.")[2].partition(".")[2]


def _plain_parts(tensor: SafetensorsTensor, parts: list[str], num_experts: int) -> Iterator[tuple[str, StoredTensor]]:
    """Of a stack (experts, inputs, outputs), or of biases (experts, outputs)."""
    *between, num_outputs = _checked_shape(tensor, 2 if parts[0].endswith(".bias") else 3, -1, parts, num_experts)
    shape = (num_outputs // len(parts), *between[1:])
    for expert, entry in enumerate(tensor.rows()):
        for turn, part in enumerate(parts):
            read = partial(_read_plain, entry, slice(turn, None, len(parts)))
            yield part.replace(STACK, f".{expert}."), StoredTensor(tensor.file.path, tensor.name, shape, read)


def _mxfp4_parts(
    blocks: SafetensorsTensor, scales: SafetensorsTensor | None, parts: list[str], num_experts: int
) -> Iterator[tuple[str, StoredTensor]]:
    """Of a stack of blocks (experts, outputs, blocks, bytes) and their scales (experts, outputs, blocks)."""
    _, num_outputs, num_blocks, num_bytes = _checked_shape(blocks, 4, 1, parts, num_experts)
    if scales is None or scales.shape != blocks.shape[:3] or num_bytes != mxfp4_blocks.BLOCK_BYTES:
        found = "no scales" if scales is None else f"scales of the shape {list(scales.shape)}"
        raise invalid(blocks.file.path, f"tensor {blocks.name!r} has the shape {list(blocks.shape)} and {found}")
    if {blocks.entry.dtype, scales.entry.dtype} != {"U8"}:
        raise invalid(blocks.file.path, f"tensor {blocks.name!r} and its scales must have the type U8")
    shape = (num_outputs // len(parts), mxfp4_blocks.BLOCK_SIZE * num_blocks)
    for expert, (entry, scales_of_entry) in enumerate(zip(blocks.rows(), scales.rows(), strict=True)):
        for turn, part in enumerate(parts):
            read = partial(_read_mxfp4, entry, scales_of_entry, slice(turn, None, len(parts)))
            yield part.replace(STACK, f".{expert}."), StoredTensor(blocks.file.path, blocks.name, shape, read)


def _checked_shape(
    tensor: SafetensorsTensor, num_dims: int, axis: int, parts: list[str], num_experts: int
) -> tuple[int, ...]:
    """The shape of a stack, whose outputs are along `axis`."""
    shape = tensor.shape
    if len(shape) != num_dims or shape[0] != num_experts or shape[axis] % len(parts):
        found = f"tensor {tensor.name!r} has the shape {list(shape)}"
        raise invalid(tensor.file.path, f"{found}, not that of a stack of {num_experts} experts")
    return shape


def _read_plain(entry: SafetensorsTensor, part: slice) -> NDArray[np.float32]:
    """(outputs, inputs) of a matrix that is stored as (inputs, outputs), or outputs of a bias."""
    return widened(np.ascontiguousarray(entry.read_items()[..., part].T))


def _read_mxfp4(blocks: SafetensorsTensor, scales: SafetensorsTensor, part: slice) -> NDArray[np.float32]:
    return mxfp4_blocks.dequantize(blocks.read_items()[part], scales.read_items()[part])

"""Tensor types of GGUF files: each block format against its definition, value by value."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType as TensorType
from numpy.typing import NDArray

from cactus_actors.models.dequantize import CHUNK_VALUES, READABLE_TYPES, dequantize
from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.protocol.errors import ModelFileInvalid
from tests.support.models.gguf_block_formats import DEFINITIONS, random_blocks

# The definitions below follow the block structs of ggml (ggml-common.h). All products are exact in float64
# and the one sum is rounded to float32 once, so the comparison is exact.


def write_tensors(path: Path, tensors: dict[str, tuple[TensorType, NDArray[np.uint8]]]) -> Path:
    """A GGUF file of tensors given as rows of stored bytes."""
    writer = gguf.GGUFWriter(path, "llama")
    for name, (kind, rows) in tensors.items():
        writer.add_tensor(name, rows, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_every_readable_type_is_defined_here() -> None:
    assert set(READABLE_TYPES) == set(DEFINITIONS)


@pytest.mark.parametrize("kind", READABLE_TYPES, ids=lambda kind: kind.name)
def test_values_equal_the_definition(tmp_path: Path, kind: TensorType) -> None:
    blocks = random_blocks(kind, 24)
    path = write_tensors(tmp_path / "m.gguf", {"before": (kind, blocks[:1]), "t": (kind, blocks.reshape(4, -1))})
    values = open_gguf(path).read_tensor("t")
    define = DEFINITIONS[kind][0]
    expected = np.array([value for block in blocks for value in define(block.tobytes())], np.float32)
    assert (values.dtype, values.shape[0], values.flags.c_contiguous) == (np.float32, 4, True)
    assert np.count_nonzero(expected) > expected.size // 2
    np.testing.assert_array_equal(values.ravel(), expected)


@pytest.mark.parametrize("kind", READABLE_TYPES, ids=lambda kind: kind.name)
def test_values_do_not_depend_on_chunks(kind: TensorType) -> None:
    block_size = gguf.GGML_QUANT_SIZES[kind][0]
    some = random_blocks(kind, 3 * 256 // block_size)
    expected = dequantize(some.ravel(), kind, (768,))
    num_copies = 2 * CHUNK_VALUES // 768 + 1
    values = dequantize(np.tile(some, (num_copies, 1)).ravel(), kind, (num_copies, 3, 256))
    assert values.size % CHUNK_VALUES not in (0, values.size)
    np.testing.assert_array_equal(values.reshape(num_copies, 768), np.broadcast_to(expected, (num_copies, 768)))


@pytest.mark.parametrize(
    "kind", [kind for kind in READABLE_TYPES if kind != TensorType.F32], ids=lambda kind: kind.name
)
def test_reading_takes_only_the_memory_of_the_tensor(kind: TensorType) -> None:
    num_values = 32 * CHUNK_VALUES
    stored = np.zeros(num_values // gguf.GGML_QUANT_SIZES[kind][0] * gguf.GGML_QUANT_SIZES[kind][1], np.uint8)
    tracemalloc.start()
    try:
        dequantize(stored, kind, (32, CHUNK_VALUES))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 4 * num_values <= peak < 4 * num_values + (12 << 20)


def test_float32_is_not_copied() -> None:
    stored = np.zeros(64, np.uint8)
    assert np.shares_memory(dequantize(stored, TensorType.F32, (4, 4)), stored)


@pytest.mark.parametrize(
    ("kind", "steps"),
    [("Q4_0", 8), ("Q4_1", 15), ("Q5_0", 16), ("Q5_1", 31), ("Q8_0", 127)],
)
def test_quantised_values_are_within_a_step(tmp_path: Path, kind: str, steps: int) -> None:
    values = np.random.default_rng(3).uniform(-1, 1, (8, 96)).astype(np.float32)
    stored = gguf.quants.quantize(values, TensorType[kind])
    path = write_tensors(tmp_path / "m.gguf", {"t": (TensorType[kind], stored)})
    span = 2 if kind.endswith("_1") else 1
    np.testing.assert_allclose(open_gguf(path).read_tensor("t"), values, rtol=0, atol=span / steps * 1.01)


@pytest.mark.parametrize("kind", ["Q8_1", "Q8_K", "I8", "I32", "F64"])
def test_a_type_that_is_not_supported_is_named(tmp_path: Path, kind: str) -> None:
    stored = np.zeros((2, gguf.GGML_QUANT_SIZES[TensorType[kind]][1]), np.uint8)
    path = write_tensors(tmp_path / "m.gguf", {"blk.0.attn_q.weight": (TensorType[kind], stored)})
    with pytest.raises(ModelFileInvalid) as caught:
        open_gguf(path)
    for named in (str(path), "'blk.0.attn_q.weight'", kind, "Q4_K", "IQ4_NL", "BF16"):
        assert named in caught.value.message

"""Parts of GGUF files in which every byte has a meaning: blocks of tensors, and character maps."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.models.dequantize import READABLE_TYPES
from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.text import load_text_model
from tests.support.fuzzing.damage import damaged
from tests.support.fuzzing.gguf_files import (
    DATA,
    INFOS,
    METADATA,
    OTHER_VOCABULARIES,
    gguf_of,
    numbers_value,
    refused,
    text_value,
    use,
)
from tests.support.fuzzing.judging import answer, fuzzed
from tests.support.models.embedding_vocabularies import character_map
from tests.support.models.file_bytes import tensor_info

SIZES = gguf.GGML_QUANT_SIZES
COUNTS = st.sampled_from([0, 1, 2, 31, 32, 255, 256, 257, 512, 2**31, 2**61])


@st.composite
def one_tensor(draw: st.DrawFn) -> tuple[str, bytes]:
    """The name of a type, and a file with one tensor of it: of a valid or an odd shape, complete or truncated."""
    kind = draw(st.sampled_from(READABLE_TYPES))
    block_size, block_bytes = SIZES[kind]
    shape = [block_size * draw(st.integers(1, 3)), draw(st.integers(1, 4))]
    num_bytes = shape[0] // block_size * shape[1] * block_bytes
    data = draw(st.binary(min_size=num_bytes, max_size=num_bytes))
    if draw(st.integers(0, 2)) == 0:
        shape = draw(st.lists(COUNTS, min_size=1, max_size=4))
    if draw(st.integers(0, 3)) == 0:
        data = data[: draw(st.integers(0, num_bytes))]
    info = tensor_info("token_embd.weight", shape, int(kind))
    return kind.name, gguf_of({"general.architecture": text_value("llama")}, [info], data)


@fuzzed(60)
@given(tensor=one_tensor())
def test_damaged_blocks_of_every_type_are_read_or_refused(folder: Path, tensor: tuple[str, bytes]) -> None:
    name, content = tensor
    path = folder / "blocks.gguf"
    path.write_bytes(content)

    def read() -> bool:
        file = open_gguf(path)
        info = file.tensors["token_embd.weight"]
        values = file.read_tensor("token_embd.weight")
        return (info.type.name, info.shape, np.float32) == (name, values.shape, values.dtype)

    result = answer(read, names=[path.name])
    assert refused(result) or result is True


@fuzzed(15)
@given(
    maps=damaged(character_map({"A": "ab", "\n": " ", "z": "Z"})) | st.binary(max_size=40),
    text=st.text(max_size=20),
)
def test_damaged_character_maps_are_read_or_refused(folder: Path, maps: bytes, text: str) -> None:
    metadata = METADATA | OTHER_VOCABULARIES["t5"]
    metadata["tokenizer.ggml.precompiled_charsmap"] = numbers_value(0, "B", list(maps))
    path = folder / "map.gguf"
    path.write_bytes(gguf_of(metadata, INFOS, DATA))
    model = answer(load_text_model, path, names=[path.name])
    if not refused(model):
        use(model)
        answer(model.tokenizer.encode, f"A\nz{text}", add_special=True)

"""Corrupt model files raise ModelFileInvalid, and quickly."""

from __future__ import annotations

import json
import random
import re
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from safetensors.numpy import save_file

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.text import load_text_model
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.loading.safetensors_file import open_safetensors
from tests.support.models.file_bytes import (
    gguf_bytes,
    read_all_of_gguf,
    read_all_of_safetensors,
    safetensors_bytes,
    string,
    tensor_info,
)
from tests.support.models.tiny_gguf import SHAPES, TOKEN_TYPES, TOKENS

MAX_SECONDS_A_FILE = 2.0


@pytest.fixture(scope="module")
def sound_gguf(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("sound") / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(32)
    writer.add_block_count(1)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([-float(score) for score in range(len(TOKENS))])
    writer.add_token_types(TOKEN_TYPES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template("{{ messages[0].content }}")
    for name, shape in SHAPES.items():
        values = np.ones(shape, np.float32)
        kind = gguf.GGMLQuantizationType.Q8_0 if len(shape) == 2 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def sound_safetensors(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("sound") / "model.safetensors"
    save_file({"a": np.ones((3, 5), np.float32), "b": np.ones(7, np.float16)}, path)
    return path.read_bytes()


def refused_or_read(path: Path, content: bytes, read: Callable[[Path], object]) -> bool:
    """True if `content` was refused; any exception other than ModelFileInvalid fails the test.

    Errors in the header of a GGUF file contain the offset, unless the file is empty.
    """
    path.write_bytes(content)
    start = time.process_time()
    message = None
    try:
        read(path)
    except ModelFileInvalid as error:
        message = error.message
    assert time.process_time() - start < MAX_SECONDS_A_FILE
    assert message is None or path.name in message or path.parent.name in message
    if message is not None and read is open_gguf and content:
        assert re.search(r" \(at byte \d+\)$", message), message
    return message is not None


def mutations(content: bytes, header_bytes: int, seed: int, number: int) -> Iterator[bytes]:
    """Copies of `content` with one to three bytes of the header changed."""
    generator = random.Random(seed)
    for _ in range(number):
        mutated = bytearray(content)
        for _ in range(generator.randint(1, 3)):
            mutated[generator.randrange(header_bytes)] = generator.choice([0, 1, 0x7F, 0x80, 0xFF, ord("0")])
        yield bytes(mutated)


def test_the_undamaged_files_are_read(tmp_path: Path, sound_gguf: bytes, sound_safetensors: bytes) -> None:
    assert not refused_or_read(tmp_path / "m.gguf", sound_gguf, read_all_of_gguf)
    assert not refused_or_read(tmp_path / "m.safetensors", sound_safetensors, read_all_of_safetensors)


def test_every_truncation_of_gguf_is_refused(tmp_path: Path, sound_gguf: bytes) -> None:
    ends = [*range(0, 600), *range(600, len(sound_gguf) - 2000, 149), len(sound_gguf) - 1]
    for end in ends:
        assert refused_or_read(tmp_path / "m.gguf", sound_gguf[:end], open_gguf), f"cut at {end}"


def test_every_truncation_of_safetensors_is_refused(tmp_path: Path, sound_safetensors: bytes) -> None:
    for end in range(len(sound_safetensors)):
        cut = sound_safetensors[:end]
        assert refused_or_read(tmp_path / "m.safetensors", cut, open_safetensors), f"cut at {end}"


def test_changed_bytes_of_gguf_raise_only_typed_errors(tmp_path: Path, sound_gguf: bytes) -> None:
    header_bytes = len(sound_gguf) - 12_000
    refused = sum(
        refused_or_read(tmp_path / "m.gguf", mutated, read_all_of_gguf)
        for mutated in mutations(sound_gguf, header_bytes, seed=1, number=100)
    )
    assert refused > 15


def test_changed_bytes_of_safetensors_raise_only_typed_errors(tmp_path: Path, sound_safetensors: bytes) -> None:
    header_bytes = 8 + int.from_bytes(sound_safetensors[:8], "little")
    refused = sum(
        refused_or_read(tmp_path / "m.safetensors", mutated, read_all_of_safetensors)
        for mutated in mutations(sound_safetensors, header_bytes, seed=2, number=600)
    )
    assert refused > 300


def alignment_entry(alignment: int) -> bytes:
    return string("general.alignment") + struct.pack("<II", 4, alignment)


def array_entry(kind: int, length: int, content: bytes = b"") -> bytes:
    return string("list") + struct.pack("<IIQ", 9, kind, length) + content


CORRUPT_GGUF: dict[str, bytes] = {
    "empty": b"",
    "three bytes": b"GGU",
    "bad magic": b"GGML" + gguf_bytes()[4:],
    "version 0": gguf_bytes(version=0),
    "version 1": gguf_bytes(version=1),
    "version 99": gguf_bytes(version=99),
    "big-endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0) + bytes(8),
    "too many tensors": gguf_bytes(num_tensors=1 << 63),
    "2^32 tensors": gguf_bytes(num_tensors=1 << 32),
    "too many entries": gguf_bytes(num_entries=1 << 63),
    "2^32 entries": gguf_bytes(num_entries=1 << 32),
    "key of 2^64 - 1 bytes": gguf_bytes(entries=[struct.pack("<Q", (1 << 64) - 1) + bytes(64)]),
    "long string": gguf_bytes(entries=[string("key") + struct.pack("<IQ", 8, 1 << 40)]),
    "not UTF-8": gguf_bytes(entries=[string("key") + struct.pack("<IQ", 8, 2) + b"\xff\xfe"]),
    "value type 99": gguf_bytes(entries=[string("key") + struct.pack("<I", 99) + bytes(16)]),
    "value type -1": gguf_bytes(entries=[string("key") + struct.pack("<i", -1) + bytes(16)]),
    "element type 99": gguf_bytes(entries=[array_entry(99, 1, bytes(16))]),
    "array of arrays": gguf_bytes(entries=[array_entry(9, 1, struct.pack("<IQ", 9, 1) * 10_000)]),
    "array too long": gguf_bytes(entries=[array_entry(4, 1 << 62, bytes(64))]),
    "array of strings too long": gguf_bytes(entries=[array_entry(8, 1 << 61, bytes(64))]),
    "duplicate key": gguf_bytes(entries=[alignment_entry(32)] * 2),
    "alignment 0": gguf_bytes(entries=[alignment_entry(0)]),
    "alignment 3": gguf_bytes(entries=[alignment_entry(3)]),
    "alignment 2^31": gguf_bytes(entries=[alignment_entry(1 << 31)]),
    "no dimensions": gguf_bytes(infos=[tensor_info("t", [])], data=bytes(64)),
    "2^32 - 1 dimensions": gguf_bytes(
        infos=[string("t") + struct.pack("<I", (1 << 32) - 1) + bytes(64)], data=bytes(64)
    ),
    "five dimensions": gguf_bytes(infos=[tensor_info("t", [1] * 5)], data=bytes(64)),
    "empty dimension": gguf_bytes(infos=[tensor_info("t", [4, 0])], data=bytes(64)),
    "product over 64 bits": gguf_bytes(infos=[tensor_info("t", [1 << 33, 1 << 33])], data=bytes(64)),
    "product wraps to 0": gguf_bytes(infos=[tensor_info("t", [1 << 32, 1 << 32])], data=bytes(64)),
    "unknown tensor type": gguf_bytes(infos=[tensor_info("t", [4], kind=9999)], data=bytes(64)),
    "row of half a block": gguf_bytes(infos=[tensor_info("t", [16], kind=8)], data=bytes(64)),
    "offset misaligned": gguf_bytes(infos=[tensor_info("t", [4], offset=3)], data=bytes(64)),
    "offset past the end": gguf_bytes(infos=[tensor_info("t", [4], offset=1 << 40)], data=bytes(64)),
    "offset negative": gguf_bytes(infos=[tensor_info("t", [4], offset=(1 << 64) - 32)], data=bytes(64)),
    "overlap": gguf_bytes(infos=[tensor_info("t", [16]), tensor_info("u", [4], offset=32)], data=bytes(64)),
    "two of one name": gguf_bytes(infos=[tensor_info("t", [4]), tensor_info("t", [4], offset=32)], data=bytes(64)),
}


@pytest.mark.parametrize("fault", CORRUPT_GGUF)
def test_a_corrupt_gguf_header_is_refused(tmp_path: Path, fault: str) -> None:
    assert refused_or_read(tmp_path / "m.gguf", CORRUPT_GGUF[fault], open_gguf)


def test_the_generated_headers_without_corruption_are_valid(tmp_path: Path) -> None:
    entries = [alignment_entry(64), array_entry(8, 1, string("x"))]
    infos = [tensor_info("t", [4]), tensor_info("u", [2, 3], offset=64)]
    content = gguf_bytes(entries=entries, infos=infos, data=bytes(96), alignment=64)
    (tmp_path / "m.gguf").write_bytes(content)
    file = open_gguf(tmp_path / "m.gguf")
    assert file.tensors["u"].shape == (3, 2)
    assert file.metadata["list"] == ["x"]


def entry(dtype: str = "F32", shape: Any = (4,), offsets: Any = (0, 16)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


CORRUPT_SAFETENSORS: dict[str, bytes] = {
    "empty": b"",
    "seven bytes": bytes(7),
    "no header": bytes(8),
    "header longer than the file": safetensors_bytes({}, length=1000),
    "header over the limit": safetensors_bytes({}, length=100_000_001),
    "header of 2^64 - 1 bytes": safetensors_bytes({}, length=(1 << 64) - 1),
    "not JSON": safetensors_bytes(b"{nothing}"),
    "not UTF-8": safetensors_bytes(b'{"\xff": 1}'),
    "a list": safetensors_bytes(b"[]"),
    "deep": safetensors_bytes(b'{"a":' * 5000 + b"1" + b"}" * 5000),
    "two of one name": safetensors_bytes(
        b'{"a":' + json.dumps(entry()).encode() + b',"a":' + json.dumps(entry()).encode() + b"}"
    ),
    "metadata of numbers": safetensors_bytes({"__metadata__": {"a": 1}, "t": entry()}),
    "begin after end": safetensors_bytes({"t": entry(offsets=(16, 0))}),
    "a hole": safetensors_bytes({"t": entry(shape=(1,), offsets=(12, 16))}),
    "overlap": safetensors_bytes({"t": entry(), "u": entry()}),
    "past the end": safetensors_bytes({"t": entry(shape=(40,), offsets=(0, 160))}),
    "not all of the file": safetensors_bytes({"t": entry()}, body=bytes(20)),
    "shape and size differ": safetensors_bytes({"t": entry(shape=(5,))}),
    "shape overflows": safetensors_bytes({"t": entry(shape=(1 << 33, 1 << 33))}),
    "negative shape": safetensors_bytes({"t": entry(shape=(-4,))}),
    "shape of text": safetensors_bytes({"t": entry(shape="4")}),
    "unknown type": safetensors_bytes({"t": entry(dtype="F31")}),
    "type that is not supported": safetensors_bytes({"t": entry(dtype="I32")}),
    "an entry that is a list": safetensors_bytes({"t": []}),
    "an entry without offsets": safetensors_bytes({"t": {"dtype": "F32", "shape": [4]}}),
}


@pytest.mark.parametrize("fault", CORRUPT_SAFETENSORS)
def test_a_corrupt_safetensors_header_is_refused(tmp_path: Path, fault: str) -> None:
    assert refused_or_read(tmp_path / "m.safetensors", CORRUPT_SAFETENSORS[fault], open_safetensors)


@pytest.mark.parametrize("padding", [b"", b" ", b" " * 1000])
def test_spaces_after_a_safetensors_header_are_ignored(tmp_path: Path, padding: bytes) -> None:
    path = tmp_path / "m.safetensors"
    values = np.arange(4, dtype=np.float32)
    header = json.dumps({"t": entry()}).encode() + padding
    path.write_bytes(safetensors_bytes(header, body=values.tobytes()))
    assert open_safetensors(path).read_tensor("t").tolist() == values.tolist()


@pytest.mark.parametrize("padding", [b" ", b"\n", b"\t", b"\xef\xbb\xbf", b" " * 1000])
def test_bytes_before_a_safetensors_header_are_refused(tmp_path: Path, padding: bytes) -> None:
    path = tmp_path / "m.safetensors"
    header = padding + json.dumps({"t": entry()}).encode()
    path.write_bytes(safetensors_bytes(header, body=bytes(16)))
    with pytest.raises(ModelFileInvalid, match=r"m\.safetensors.*offset 8"):
        open_safetensors(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": 1, "a": 2}', b"\xff", b"{}", b"[" * 100_000])
def test_a_corrupt_config_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.json"
    assert refused_or_read(path, content, lambda _: read_model(tmp_path))
    assert refused_or_read(path, content, lambda _: load_text_model(tmp_path))

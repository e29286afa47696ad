"""Model files: read, or refused with ModelFileInvalid that names the file."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from cactus_actors.models.confidence_fits import read_probe
from cactus_actors.text import load_text_model
from cactus_actors.workers.loading.model_reader import read_model
from tests.goldens.families import FAMILIES
from tests.support.fuzzing.damage import changed_json, damaged
from tests.support.fuzzing.gguf_files import (
    DATA,
    INFOS,
    METADATA,
    OTHER_VOCABULARIES,
    flag_value,
    float_value,
    gguf_of,
    numbers_value,
    refused,
    text_value,
    texts_value,
    use,
)
from tests.support.fuzzing.judging import answer, fuzzed
from tests.support.fuzzing.values import EXTREME_INTEGERS, ODD_TEXTS
from tests.support.models.file_bytes import (
    read_all_of_gguf,
    read_all_of_safetensors,
    safetensors_bytes,
    tensor_info,
)
from tests.support.models.json_tokenizers import make_json_tokenizer, write_directory
from tests.support.models.tiny_gguf import SHAPES, TOKENS
from tests.support.paths import GOLDENS

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

CONFIGS = {family.name: family.config for family in FAMILIES}
PROBE = {"bias": 1.3, "entropy_mean": -0.5, "entropy_max": 1.2, "surprise_mean": -1.3, "length": -2.0}


# GGUF: a small model in which every metadata value and tensor entry can be replaced


OTHER_KEYS = (
    "llama.expert_count",
    "llama.attention.sliding_window",
    "tokenizer.ggml.pre",
    "llama.vocab_size",
)
ODD_VALUES: SearchStrategy[bytes] = st.one_of(
    st.sampled_from(EXTREME_INTEGERS).map(lambda n: struct.pack("<IQ", 10, n % 2**64)),
    st.sampled_from(EXTREME_INTEGERS).map(lambda n: struct.pack("<II", 4, n % 2**32)),
    st.sampled_from([0.0, -1.0, 1e38, float("nan"), float("inf")]).map(float_value),
    st.sampled_from([*ODD_TEXTS, "llama", "gpt2", "qwen3moe", "gemma3", "phi3", "lfm2"]).map(text_value),
    st.sampled_from([[], ["a"], TOKENS[:5], ["a"] * len(TOKENS), ["a" * 20_000, *TOKENS[1:]]]).map(texts_value),
    st.lists(st.sampled_from([0, 1, -1, 3, 99]), max_size=4).map(lambda n: numbers_value(5, "i", n)),
    st.just(numbers_value(6, "f", [float("nan")] * len(TOKENS))),
    st.just(numbers_value(5, "i", [3] * len(TOKENS))),
    st.sampled_from([flag_value(1), flag_value(7), struct.pack("<IIIQ", 9, 9, 9, 1), struct.pack("<I", 99)]),
)


SOUND_GGUF = gguf_of(METADATA, INFOS, DATA)


@st.composite
def odd_gguf(draw: st.DrawFn) -> bytes:
    """Odd values under known keys, odd entries among the tensors."""
    metadata = METADATA | draw(st.sampled_from(list(OTHER_VOCABULARIES.values())))
    for _ in range(draw(st.integers(0, 3))):
        key = draw(st.sampled_from([*metadata, *OTHER_KEYS]))
        if draw(st.integers(0, 4)):
            metadata[key] = draw(ODD_VALUES)
        else:
            metadata.pop(key, None)
    infos = list(INFOS)
    for _ in range(draw(st.integers(0, 2))):
        index = draw(st.integers(0, len(infos) - 1))
        names = [f"{name}.weight" for name in SHAPES]
        infos[index] = tensor_info(
            draw(st.sampled_from([*names, "rope_freqs.weight", "blk.0.attn_q.bias", "blk.9.attn_q.weight", "x"])),
            draw(st.lists(st.sampled_from([0, 1, 2, 16, 32, 2**31, 2**33, 2**63]), max_size=5)),
            draw(st.integers(0, 40)),
            draw(st.sampled_from([0, 32, 31, 2**40, 2**64 - 32])),
        )
    return gguf_of(metadata, infos, DATA)


def read_gguf(path: Path, content: bytes) -> bool:
    path.write_bytes(content)
    text_model = answer(load_text_model, path, names=[path.name])
    if not refused(text_model):
        use(text_model)
    return refused(answer(read_all_of_gguf, path, names=[path.name]))


@pytest.mark.parametrize("kind", OTHER_VOCABULARIES)
def test_the_valid_gguf_is_read(folder: Path, kind: str) -> None:
    assert not read_gguf(folder / "sound.gguf", gguf_of(METADATA | OTHER_VOCABULARIES[kind], INFOS, DATA))


@fuzzed(15)
@given(content=damaged(SOUND_GGUF, reach=len(SOUND_GGUF) - len(DATA)))
def test_damaged_gguf_files_are_read_or_refused(folder: Path, content: bytes) -> None:
    read_gguf(folder / "damaged.gguf", content)


@fuzzed(15)
@given(content=odd_gguf())
def test_gguf_files_of_arbitrary_values_are_read_or_refused(folder: Path, content: bytes) -> None:
    read_gguf(folder / "odd.gguf", content)


@fuzzed(5)
@given(content=damaged(SOUND_GGUF).filter(lambda content: len(content) > 100))
def test_gguf_files_with_damaged_tensors_are_read_or_refused(folder: Path, content: bytes) -> None:
    read_gguf(folder / "tensors.gguf", content)


# safetensors

HEADER = {
    "__metadata__": {"format": "pt"},
    "a": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]},
    "b": {"dtype": "BF16", "shape": [8], "data_offsets": [48, 64]},
}


@fuzzed(15)
@given(header=changed_json(HEADER))
def test_changed_safetensors_headers_are_read_or_refused(folder: Path, header: bytes) -> None:
    path = folder / "header.safetensors"
    path.write_bytes(safetensors_bytes(header, bytes(64)))
    refused(answer(read_all_of_safetensors, path, names=[path.name]))


@fuzzed(8)
@given(content=damaged(safetensors_bytes(HEADER, bytes(64))))
def test_damaged_safetensors_files_are_read_or_refused(folder: Path, content: bytes) -> None:
    path = folder / "damaged.safetensors"
    path.write_bytes(content)
    refused(answer(read_all_of_safetensors, path, names=[path.name]))


# directories

INDEX = {"metadata": {"total_size": 1}, "weight_map": {"a": "model.safetensors", "b": "model.safetensors"}}


def copied(name: str, directory: Path) -> Path:
    shutil.copytree(GOLDENS / name, directory, dirs_exist_ok=True)
    return directory


@fuzzed(5)
@given(content=changed_json(INDEX))
def test_changed_shard_indexes_are_read_or_refused(folder: Path, content: bytes) -> None:
    directory = folder / "index"
    if not directory.exists():
        copied("llama2", directory)
    (directory / "model.safetensors.index.json").write_bytes(content)
    refused(answer(read_model, directory, names=["model.safetensors", directory.name]))


@pytest.mark.parametrize("name", CONFIGS)
@fuzzed(5)
@given(data=st.data())
def test_changed_configs_are_read_or_refused(folder: Path, name: str, data: st.DataObject) -> None:
    directory = folder / name
    if not directory.exists():
        copied(name, directory)
    config = dict(CONFIGS[name])
    if data.draw(st.integers(0, 3)) == 0:
        other = data.draw(st.sampled_from(sorted(CONFIGS)))
        config |= {"architectures": CONFIGS[other]["architectures"]}
    (directory / "config.json").write_bytes(data.draw(changed_json(config)))

    def read() -> None:
        tensors = read_model(directory).tensors
        for tensor in tensors:
            tensors[tensor]

    refused(answer(read, names=["config.json", directory.name]))


TOKENIZER_CONFIG = {
    "bos_token": "<|start|>",
    "eos_token": {"content": "<|end|>"},
    "add_bos_token": True,
    "chat_template": [
        {"name": "default", "template": "{{ messages[0].content }}"},
        {"name": "tool_use", "template": "{{ tools | tojson }}"},
    ],
}
DIRECTORY_FILES: dict[str, Any] = {
    "tokenizer.json": json.loads(make_json_tokenizer().to_str()),
    "tokenizer_config.json": TOKENIZER_CONFIG,
    "generation_config.json": {"eos_token_id": [0, 1]},
    "config.json": {
        "vocab_size": make_json_tokenizer().get_vocab_size(),
        "max_position_embeddings": 128,
        "eos_token_id": 0,
        "text_config": {"max_position_embeddings": 64},
        "rope_scaling": {"short_factor": [1.0], "long_factor": [2.0], "original_max_position_embeddings": 32},
    },
    "chat_template.jinja": None,
}


@pytest.mark.parametrize("name", DIRECTORY_FILES)
@fuzzed(10)
@given(data=st.data())
def test_changed_tokenizer_files_are_read_or_refused(folder: Path, name: str, data: st.DataObject) -> None:
    directory = folder / "text"
    write_directory(directory, make_json_tokenizer())
    for file, sound in DIRECTORY_FILES.items():
        if sound is not None:
            (directory / file).write_text(json.dumps(sound))
    (directory / "chat_template.jinja").unlink(missing_ok=True)
    sound = DIRECTORY_FILES[name]
    content = data.draw(st.binary(max_size=60) if sound is None else changed_json(sound))
    (directory / name).write_bytes(content)
    model = answer(load_text_model, directory, names=[*DIRECTORY_FILES, directory.name])
    if not refused(model):
        use(model)


@fuzzed(8)
@given(content=changed_json(PROBE))
def test_changed_probe_files_are_read_or_refused(folder: Path, content: bytes) -> None:
    path = folder / "confidence_probe.json"
    path.write_bytes(content)
    refused(answer(read_probe, path, names=[path.name]))

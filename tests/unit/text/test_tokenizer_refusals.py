"""Tokenizer files that are refused with their name and the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import pytest

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.text import load_text_model
from tests.support.models.gguf_tokenizers import sentencepiece_tokens, write_byte_level, write_vocabulary
from tests.support.models.json_tokenizers import make_json_tokenizer, write_changed, write_directory


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"pre": "made-up"}, "tokenizer.ggml.pre"),
        ({"merges": ["h zzz"]}, "merges"),
        ({"merges": ["he"]}, "merges"),
        ({"merges": "h e"}, "merges"),
        ({"eos_token_id": 100_000}, "eos_token_id"),
        ({"bos_token_id": "1"}, "bos_token_id"),
        ({"add_bos_token": 1}, "add_bos_token"),
    ],
)
def test_a_byte_level_vocabulary_that_does_not_fit_is_refused(
    tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(ModelFileInvalid, match=named):
        load_text_model(write_byte_level(tmp_path / "m.gguf", **changes))


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"scores": [0.0]}, "scores"), ({"token_type": [1, 1]}, "token_type"), ({"scores": "none"}, "scores")],
)
def test_a_sentencepiece_vocabulary_that_does_not_fit_is_refused(
    tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    tokens = sentencepiece_tokens()
    keys: dict[str, Any] = {"scores": [0.0] * len(tokens)} | changes
    types = keys.pop("token_type", [1] * len(tokens))
    with pytest.raises(ModelFileInvalid, match=named):
        load_text_model(write_vocabulary(tmp_path / "m.gguf", "llama", tokens, types, **keys))


def test_an_unknown_tokenizer_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileInvalid, match="'rwkv'; supported: llama, gpt2, gemma4, bert, t5"):
        load_text_model(write_vocabulary(tmp_path / "m.gguf", "rwkv", ["a", "b"], [1, 1]))


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"vocab_size": 10}, "tokenizer.json"),
        ({"vocab_size": None}, "tokenizer.json"),
        ({"eos_token_id": 10**6}, "eos_token_id"),
        ({"eos_token_id": -1}, "eos_token_id"),
        ({"eos_token_id": "2"}, "eos_token_id"),
        ({"max_position_embeddings": 0}, "max_position_embeddings"),
        ({"max_position_embeddings": 1 << 40}, "max_position_embeddings"),
    ],
)
def test_an_inconsistent_directory_is_refused(tmp_path: Path, config: dict[str, Any], named: str) -> None:
    with pytest.raises(ModelFileInvalid, match=named):
        load_text_model(write_directory(tmp_path / "m", make_json_tokenizer(), **config))


def test_a_corrupt_tokenizer_json_is_refused(tmp_path: Path) -> None:
    path = write_directory(tmp_path / "m", make_json_tokenizer())
    sound = (path / "tokenizer.json").read_text()
    description = json.loads(sound)
    faults = [sound[: len(sound) * part // 40] for part in range(40)]
    for change in (
        {"model": {}},
        {"model": {"type": "BPE", "vocab": {"a": 4_000_000_000}, "merges": []}},
        {"model": description["model"] | {"merges": [["h", "zzz"]]}},
        {"decoder": None},
        {"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True}},
        {
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": "("},
                "behavior": "Isolated",
                "invert": False,
            }
        },
        {"added_tokens": [{"id": -1}]},
    ):
        faults.append(json.dumps(description | change))
    for fault in faults:
        (path / "tokenizer.json").write_text(fault)
        with pytest.raises(ModelFileInvalid, match=r"tokenizer\.json"):
            load_text_model(path)


@pytest.mark.parametrize("depth", [400, 5000])
def test_deeply_nested_pre_tokenizers_are_refused(tmp_path: Path, depth: int) -> None:
    path = write_changed(tmp_path / "m", pre_tokenizer="here")
    innermost = json.dumps({"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True})
    nested = '{"type": "Sequence", "pretokenizers": [' * depth + innermost + "]}" * depth
    content = (path / "tokenizer.json").read_text().replace('"here"', nested)
    (path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelFileInvalid, match=r"tokenizer\.json: .*recursion"):
        load_text_model(path)


def test_an_oversized_tokenizer_json_is_not_read(tmp_path: Path) -> None:
    path = write_directory(tmp_path / "m", make_json_tokenizer())
    with (path / "tokenizer.json").open("ab") as file:
        file.truncate(1 << 30)
    with pytest.raises(ModelFileInvalid, match=r"tokenizer\.json: larger than"):
        load_text_model(path)


@pytest.mark.parametrize(
    "config",
    [
        {"eos_token": "\ud800"},
        {"bos_token": {"content": "\udfff"}},
        {"chat_template": "{{ '\ud800' }}"},
        {"other": {"a\udc00": 1}},
    ],
)
def test_a_lone_surrogate_is_refused(tmp_path: Path, config: dict[str, Any]) -> None:
    path = write_directory(tmp_path / "m", make_json_tokenizer(), config)
    with pytest.raises(ModelFileInvalid, match=r"tokenizer_config\.json: not valid JSON"):
        load_text_model(path)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"scores": [float("nan")] * len(sentencepiece_tokens())}, "scores"),
        ({"token_type": [1.5] * len(sentencepiece_tokens())}, "token_type"),
        ({"bos_token_id": [1, 2]}, "bos_token_id"),
        ({"model": ["llama"]}, "tokenizer.ggml.model"),
        ({"pre": ["gpt-2"], "model": "gpt2"}, "tokenizer.ggml.pre"),
        ({"tokens": ["a" * 2000, *sentencepiece_tokens()[1:]]}, "a token of 2000 characters"),
    ],
)
def test_values_of_another_type_are_refused(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    tokens = sentencepiece_tokens()
    keys: dict[str, Any] = {"scores": [0.0] * len(tokens), "model": "llama", "tokens": tokens} | changes
    path = tmp_path / "m.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    for key, value in keys.items():
        add = writer.add_array if isinstance(value, list) else writer.add_string
        add(f"tokenizer.ggml.{key}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelFileInvalid, match=named):
        load_text_model(path)

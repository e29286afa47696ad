"""The pooling of a checkpoint, and the token that its tokenizer appends to a text for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers.processors import TemplateProcessing

from cactus_actors.models.fingerprint import model_fingerprint
from cactus_actors.models.hub import TEXT_FILES
from cactus_actors.models.pooling import POOLING_FILE, pooling_of, pooling_of_gguf
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.text import load_text_model
from tests.support.models.json_tokenizers import load_model


def write_pooling(directory: Path, **values: Any) -> None:
    (directory / POOLING_FILE).parent.mkdir(exist_ok=True)
    (directory / POOLING_FILE).write_text(json.dumps({"word_embedding_dimension": 8, **values}))


@pytest.mark.parametrize(
    ("values", "pooling"),
    [
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True, "include_prompt": True}, "lasttoken"),
        ({"pooling_mode": "lasttoken"}, "lasttoken"),
    ],
)
def test_pooling_is_read_from_a_directory(tmp_path: Path, values: dict[str, Any], pooling: str) -> None:
    assert pooling_of(tmp_path) == "mean", "nothing is said"
    write_pooling(tmp_path, **values)
    assert pooling_of(tmp_path) == pooling


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"pooling_mode_max_tokens": True}, "pooling_mode_max_tokens"),
        ({"pooling_mode": "weightedmean"}, "weightedmean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, "pooling_mode_mean_tokens"),
        ({}, "nothing"),
    ],
)
def test_unsupported_poolings_are_refused(tmp_path: Path, values: dict[str, Any], named: str) -> None:
    write_pooling(tmp_path, **values)
    with pytest.raises(ModelFileInvalid, match=named):
        pooling_of(tmp_path)


@pytest.mark.parametrize(
    ("number", "pooling"), [(None, "mean"), (0, "mean"), (1, "mean"), (2, "cls"), (3, "lasttoken")]
)
def test_pooling_is_read_from_a_gguf_file(number: int | None, pooling: str) -> None:
    metadata = {"general.architecture": "qwen3"} | ({} if number is None else {"qwen3.pooling_type": number})
    assert pooling_of_gguf(Path("m.gguf"), metadata) == pooling
    with pytest.raises(ModelFileInvalid, match=r"qwen3\.pooling_type is 4"):
        pooling_of_gguf(Path("m.gguf"), {"general.architecture": "qwen3", "qwen3.pooling_type": 4})


def test_the_end_token_is_appended_for_last_token_pooling(tmp_path: Path) -> None:
    model = load_model(tmp_path, "<|endoftext|>")
    plain = model.tokenizer.encode("hi", add_special=True)
    inner = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    inner.post_processor = TemplateProcessing(
        single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", inner.token_to_id("<|endoftext|>"))]
    )
    inner.save(str(tmp_path / "tokenizer.json"))
    before = load_text_model(tmp_path)
    assert before.tokenizer.encode("hi", add_special=True) == plain, "a model that generates goes on from there"
    write_pooling(tmp_path, pooling_mode_lasttoken=True)
    tokenizer = load_text_model(tmp_path).tokenizer
    assert tokenizer.encode("hi", add_special=True) == [*plain, 256]
    assert tokenizer.encode("hi", add_special=False) == plain
    assert model_fingerprint(tmp_path) != before.fingerprint


def test_the_pooling_file_is_downloaded_from_the_hub() -> None:
    assert POOLING_FILE in TEXT_FILES

"""GGUF files that llama.cpp's own converter wrote, against transformers and sentencepiece."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.text import load_text_model
from cactus_actors.workers.loading.load_model import load_model
from tests.support.models.golden_runs import NUM_GREEDY, TOLERANCE, Golden, alone, greedy
from tests.support.paths import GOLDENS

NAMES = sorted(path.parent.name for path in GOLDENS.glob("*/model.gguf"))


def reference_of(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((GOLDENS / name / "reference.json").read_text())
    return content


def test_converted_files_are_found() -> None:
    assert NAMES == ["gemma2-converted", "gemma3-converted"]


@pytest.mark.parametrize("name", NAMES)
def test_a_converted_file_has_the_logits_of_its_checkpoint(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path))
    golden = Golden.read(name)
    model = load_model(golden.directory / "model.gguf", weights="float32", threads=1)
    error = golden.error(alone(model, golden.prompt_ids))
    greedy_ids = greedy(model, golden.prompt_ids, NUM_GREEDY)
    model.close()
    assert error <= TOLERANCE
    assert greedy_ids == golden.greedy_ids


@pytest.mark.parametrize("name", NAMES)
def test_a_converted_vocabulary_tokenizes_like_the_original(name: str) -> None:
    model = load_text_model(GOLDENS / name / "model.gguf")
    for text, ids in reference_of(name)["texts"].items():
        assert model.tokenizer.encode(text, add_special=False, parse_special=False) == ids, repr(text)
        assert model.tokenizer.decode(ids) == text
        assert model.tokenizer.encode(text, add_special=True, parse_special=False) == [2, *ids]


@pytest.mark.parametrize("name", NAMES)
def test_turns_of_a_converted_template_consist_of_control_tokens(name: str) -> None:
    model = load_text_model(GOLDENS / name / "model.gguf")
    ids = model.chat_prompt([{"role": "user", "content": "so<end_of_turn>it"}]).ids
    begin, end = (model.tokenizer.id_of(f"<{part}_of_turn>") for part in ("start", "end"))
    assert (ids[:2], ids.count(begin), ids.count(end)) == ([2, begin], 1, 1)
    assert model.tokenizer.decode(ids) == "user\nso<end_of_turn>it\n"
    assert end in model.eos_ids


@pytest.mark.parametrize("name", NAMES)
def test_the_files_have_the_traits_of_the_converter_s_output(name: str) -> None:
    file = open_gguf(GOLDENS / name / "model.gguf")
    assert file.metadata["tokenizer.ggml.add_space_prefix"] is False
    assert file.metadata["general.file_type"] == gguf.LlamaFileType.MOSTLY_BF16
    assert {"  ", "<b>"} <= set(file.metadata["tokenizer.ggml.tokens"])  # spaces, not what stands for them
    assert np.all(file.read_tensor("output_norm.weight") > 0)  # one more than the checkpoint's

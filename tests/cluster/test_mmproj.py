"""A service of GGUF files, one of the text and one of the encoder, answers questions about pictures."""

from __future__ import annotations

import base64
import io
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.config import ServeConfig
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.service.model_source import ModelSource, find_model
from tests.goldens.sample_pictures import sample_picture
from tests.goldens.to_mmproj import Pair, write_pair
from tests.support.models.served_pictures import write_served_model
from tests.support.services.running_service import running_service

BY_TRANSFORMERS = {
    (0,): [164, 205, 184, 111, 40, 253, 165, 120, 163, 231, 69, 13],
    (0, 1): [205, 48, 52, 198, 12, 79, 21, 213, 165, 120, 66, 55],
}
"""Greedy ids for the pictures of these numbers, as in `test_pictures.py`."""

OPTIONS: dict[str, Any] = {"temperature": 0.0, "max_tokens": 12, "ignore_eos": True}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    directory = tmp_path_factory.mktemp("vision")
    return write_pair(write_served_model(directory / "directory", "smolvlm"), directory / "files")


def config_of(model: Path, state: Path, **settings: Any) -> ServeConfig:
    endpoints = {"jobs_endpoint": "tcp://127.0.0.1:*", "stream_endpoint": "tcp://127.0.0.1:*", "http": "127.0.0.1:0"}
    return ServeConfig(model=str(model), weights="float32", state_dir=state, **endpoints, **settings)


def url(seed: int) -> str:
    content = io.BytesIO()
    sample_picture(40, 30, seed).save(content, "PNG")
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"


def test_answers_are_those_of_transformers(pair: Pair, tmp_path: Path) -> None:
    with running_service(config_of(pair.text, tmp_path)) as service:
        for seeds, expected in BY_TRANSFORMERS.items():
            message = {"role": "user", "content": "What is it?", "images": [url(seed) for seed in seeds]}
            assert service.client.complete(messages=[message], **OPTIONS).token_ids == expected
        content = [{"type": "image_url", "image_url": {"url": url(0)}}, {"type": "text", "text": "What is it?"}]
        body = {"model": "x", "messages": [{"role": "user", "content": content}], "return_raw_tokens": True, **OPTIONS}
        answer = httpx.post(f"http://{service.http}/v1/chat/completions", json=body, timeout=60).json()
        assert answer["choices"][0]["tokens"] == BY_TRANSFORMERS[0,]


@pytest.mark.slow
def test_answers_of_qwen3_vl_are_those_of_transformers(tmp_path: Path) -> None:
    bounds = {"clip.vision.image_min_pixels": 256, "clip.vision.image_max_pixels": 1024}
    directory = write_served_model(tmp_path / "directory", "qwen3-vl")
    pair = write_pair(directory, tmp_path / "files", changes=bounds)
    with running_service(config_of(pair.text, tmp_path)) as service:
        message = {"role": "user", "content": "What is it?", "images": [url(0), url(1)]}
        expected = [12, 147, 50, 206, 42, 40, 88, 143, 17, 164, 12, 35]  # as in `test_pictures.py`
        assert service.client.complete(messages=[message], **OPTIONS).token_ids == expected


def test_the_files_of_the_actors_are_absolute(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pair.text.parent)
    source = find_model(config_of(Path(pair.text.name), tmp_path), lambda _: None)
    assert source == ModelSource(str(pair.text), str(pair.mmproj), "model", memory=None)
    source = find_model(config_of(pair.text, tmp_path, mmproj="none"), lambda _: None)
    assert source == ModelSource(str(pair.text), "none", "model", memory=None)


def test_a_file_of_another_model_stops_the_start(pair: Pair, tmp_path: Path) -> None:
    other = write_pair(write_served_model(tmp_path / "directory", "lfm2-vl"), tmp_path / "files").mmproj
    words = r"mmproj-model.gguf: clip.projector_type is 'lfm2', for text models of lfm2, but model.gguf has 'llama'"
    with pytest.raises(ModelFileInvalid, match=rf"{words}$"):
        find_model(config_of(pair.text, tmp_path, mmproj=str(other)), lambda _: None)
    shutil.copy(pair.text, other.parent)
    with pytest.raises(ModelFileInvalid, match=rf"{words}; it is next to the model, --mmproj none serves the text"):
        find_model(config_of(other.with_name("model.gguf"), tmp_path), lambda _: None)

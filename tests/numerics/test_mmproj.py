"""Vision models as a GGUF file of the text beside one of the encoder, against the same models as directories."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import load_model
from tests.goldens.to_gguf import read_safetensors
from tests.goldens.to_mmproj import PROJECTORS, Pair, with_experts_everywhere, write_pair
from tests.support.models.picture_runs import (
    PICTURE_GOLDENS,
    PictureGolden,
    dispatch_of,
    encoded,
    log_probabilities,
    logits_with,
    run_all,
    tokens_of,
)
from tests.support.models.sampler_cases import NoBytes
from tests.support.paths import GOLDENS

TOLERANCE = 1e-4
"""Of a log probability, in float32."""


WITHOUT_PAIRS = ("gemma3-untied",)
"""Biases, and a scale of queries, that GGUF files of Gemma 3 do not have."""

WITH_PAIRS = [
    name
    for name in PICTURE_GOLDENS
    if name not in WITHOUT_PAIRS
    and json.loads((PictureGolden.read(name).directory / "config.json").read_text())["model_type"] in PROJECTORS
]


@pytest.fixture(scope="module", params=WITH_PAIRS)
def golden(request: pytest.FixtureRequest) -> PictureGolden:
    return PictureGolden.read(request.param)


@pytest.fixture(scope="module")
def directory(golden: PictureGolden, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint, with the activation, the windows and the float32 numbers that GGUF files stand for."""
    copy = tmp_path_factory.mktemp("model") / golden.directory.name
    shutil.copytree(golden.directory, copy)
    config = json.loads((copy / "config.json").read_text())
    config["vision_config"]["hidden_act"] = "gelu_pytorch_tanh"
    if config["model_type"] == "gemma3":
        config["text_config"]["sliding_window_pattern"] = 6
    if config["model_type"] == "gemma4":
        config["vision_config"]["rms_norm_eps"] = 1e-6
    if config["text_config"].pop("mlp_only_layers", []):
        save_file(with_experts_everywhere(read_safetensors(copy / "model.safetensors")), copy / "model.safetensors")
    (copy / "config.json").write_text(json.dumps(config))
    processor = json.loads((copy / "preprocessor_config.json").read_text())
    for key in ("image_mean", "image_std"):
        processor[key] = [float(np.float32(each)) for each in processor[key]]
    (copy / "preprocessor_config.json").write_text(json.dumps(processor))
    return copy


@pytest.fixture(scope="module")
def pair(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return write_pair(directory, tmp_path_factory.mktemp("pair"))


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACTUS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def as_directory(directory: Path) -> Iterator[Model]:
    model = load_model(directory, weights="float32", threads=1)
    yield model
    model.close()


@pytest.fixture(scope="module")
def as_pair(pair: Pair) -> Iterator[Model]:
    model = load_model(*pair, weights="float32", threads=1)
    yield model
    model.close()


def greedy_ids(model: Model, golden: PictureGolden) -> list[int]:
    limits = EngineLimits(cache_blocks=100, token_budget=256, max_step_s=math.inf)
    deltas = run_all(
        Engine(model, TextOptions(NoBytes(), []), limits), [dispatch_of(golden, max_tokens=len(golden.greedy_ids))]
    )
    return tokens_of(deltas[1])


def test_a_pair_has_the_log_probabilities_of_its_directory(
    golden: PictureGolden, as_directory: Model, as_pair: Model
) -> None:
    expected, found = (
        log_probabilities(logits_with(model, golden.prompt_ids, golden.pictures)) for model in (as_directory, as_pair)
    )
    assert np.abs(found - expected).max() <= TOLERANCE


def test_a_pair_has_the_embeddings_of_its_directory(golden: PictureGolden, as_directory: Model, as_pair: Model) -> None:
    assert as_pair.encoder is not None
    assert as_directory.encoder is not None
    for picture in golden.pictures:
        found, expected = (encoded(each, picture) for each in (as_pair.encoder, as_directory.encoder))
        assert np.array_equal(found, expected)


def test_a_pair_continues_as_its_directory(golden: PictureGolden, as_directory: Model, as_pair: Model) -> None:
    assert greedy_ids(as_pair, golden) == greedy_ids(as_directory, golden)


def test_a_pair_in_half_precision_embeds_pictures_alike(
    golden: PictureGolden, directory: Path, as_directory: Model, tmp_path: Path
) -> None:
    half = load_model(*write_pair(directory, tmp_path, matrices="F16"), weights="float32", threads=1)
    assert half.encoder is not None
    assert as_directory.encoder is not None
    found, expected = (encoded(each, golden.pictures[0]) for each in (half.encoder, as_directory.encoder))
    half.close()
    assert np.abs(found - expected).max() <= 0.01 * np.ptp(expected)


def test_a_pair_of_qwen35_with_experts_has_the_logits_of_its_directory(tmp_path: Path) -> None:
    golden, text = PictureGolden.read("qwen35-pictures"), GOLDENS / "qwen35moe"
    directory = write_directory_of(text, golden.directory, tmp_path / "directory")
    logits = []
    for files in ((directory,), write_pair(directory, tmp_path / "pair")):
        model = load_model(*files, weights="float32", threads=1)
        logits.append(logits_with(model, golden.prompt_ids, golden.pictures))
        model.close()
    assert np.abs(log_probabilities(logits[1]) - log_probabilities(logits[0])).max() <= TOLERANCE


def write_directory_of(text: Path, pictures: Path, into: Path) -> Path:
    """Write the Qwen3.5 MoE in `text` with the encoder in `pictures`."""
    shutil.copytree(pictures, into)
    config, text_config = (json.loads((path / "config.json").read_text()) for path in (pictures, text))
    text_config["rope_parameters"]["mrope_section"] = [2, 1, 1]
    config |= {"model_type": "qwen3_5_moe", "architectures": ["Qwen3_5MoeForConditionalGeneration"]}
    config |= {"text_config": text_config, "tie_word_embeddings": text_config["tie_word_embeddings"]}
    (into / "config.json").write_text(json.dumps(config))
    encoder = read_safetensors(pictures / "model.safetensors")
    tensors = {name: values for name, values in encoder.items() if name.startswith("model.visual.")}
    for name, values in read_safetensors(text / "model.safetensors").items():
        tensors[name.replace("model.", "model.language_model.")] = values
    save_file(tensors, into / "model.safetensors")
    return into


def test_the_text_file_alone_is_a_model_without_pictures(pair: Pair) -> None:
    model = load_model(pair.text, weights="float32", threads=1)
    assert model.encoder is None
    model.close()

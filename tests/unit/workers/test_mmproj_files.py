"""Files of encoders: damaged ones, and those of another model, are refused by file and key."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from cactus_actors.models.mmproj_file import PROJECTORS
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.protocol.model_overrides import ModelOverrides
from cactus_actors.text import load_text_model
from cactus_actors.vision.mmproj_configs import READERS
from cactus_actors.workers.families.registry import family_of_projector
from cactus_actors.workers.loading.model_reader import read_model
from tests.goldens.to_gguf import write_gguf
from tests.goldens.to_mmproj import Pair, write_pair
from tests.support.paths import GOLDENS

SMOLVLM, LFM2, GEMMA4, QWEN3, QWEN35 = (
    GOLDENS / "with_pictures" / name for name in ("smolvlm", "lfm2vl", "gemma4", "qwen3vl", "qwen35-pictures")
)


def read(pair: Pair) -> None:
    """Read the files as every actor does, and every tensor."""
    load_text_model(pair.text, ModelOverrides(mmproj=str(pair.mmproj)))
    tensors = read_model(*pair).tensors
    for name in tensors:
        tensors[name]


def refusal(pair: Pair, read: Callable[[Pair], None] = read) -> str:
    with pytest.raises(ModelFileInvalid) as refused:
        read(pair)
    assert refused.value.param == "mmproj-model.gguf"
    assert refused.value.message.startswith(f"{pair.mmproj}: ")
    return refused.value.message.removeprefix(f"{pair.mmproj}: ")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return write_pair(SMOLVLM, tmp_path_factory.mktemp("sound"))


@pytest.fixture
def pair(sound: Pair, tmp_path: Path) -> Pair:
    """A copy that a test may damage."""
    return Pair(*(Path(shutil.copy(file, tmp_path)) for file in sound))


def test_every_projector_has_its_readers() -> None:
    assert set(READERS) == set(PROJECTORS)
    for name, kind in PROJECTORS.items():
        for architecture in kind.text_architectures:
            family, reader = family_of_projector(name, architecture)
            assert (family.mmproj, family.encode is not None, reader.projector) == (reader, True, name)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("clip.has_vision_encoder", False, "is not true"),
        ("clip.has_vision_encoder", None, "is not true"),
        ("clip.projector_type", None, "None is not supported"),
        ("clip.projector_type", "pixtral", "'pixtral' is not supported; supported: idefics3, lfm2"),
        ("clip.projector_type", "lfm2", "is 'lfm2', for text models of lfm2, but model.gguf has 'llama'"),
        ("clip.vision.projection_dim", 64, "is 64, but llama.embedding_length of model.gguf is 32"),
        ("clip.vision.projection_dim", None, "is None, but"),
        ("clip.use_gelu", False, "False is not supported"),
        ("clip.use_gelu", None, "is not supported"),
        ("clip.vision.patch_size", None, "is None: expected a positive integer"),
        ("clip.vision.patch_size", 0, "is 0: expected a positive integer"),
        ("clip.vision.image_size", 2**31 - 1, "not a multiple of 4 (a patch) * 3"),
        ("clip.vision.image_size", 25, "is 25: not a multiple of 4 (a patch) * 3"),
        ("clip.vision.image_size", None, "expected a positive integer"),
        ("clip.vision.image_mean", [0.5, 0.5], "expected three numbers"),
        ("clip.vision.image_mean", None, "expected three numbers"),
        ("clip.vision.image_std", [0.5, 0.0, 0.5], "expected positive numbers"),
        ("clip.vision.projector.scale_factor", None, "expected a positive integer"),
        ("clip.vision.attention.head_count", 5, "heads of equal and even size"),
        ("clip.vision.attention.head_count", None, "is missing"),
        ("clip.vision.attention.layer_norm_epsilon", 5.0, "outside"),
        ("clip.vision.block_count", 4000, "at most"),
        ("clip.vision.embedding_length", 2, "heads of equal and even size"),
    ],
)
def test_metadata_that_is_wrong_is_refused_by_its_key(tmp_path: Path, key: str, value: Any, words: str) -> None:
    found = refusal(write_pair(SMOLVLM, tmp_path, changes={key: value}))
    place = "clip.vision.attention.head_count" if "heads of" in words else key
    assert place in found
    assert words in found


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [("clip.vision.patch_size", 3, "is 3: tiles of 512"), ("clip.vision.feed_forward_length", 53, "has the shape")],
)
def test_metadata_of_lfm2_that_is_wrong_is_refused(tmp_path: Path, key: str, value: Any, words: str) -> None:
    assert words in refusal(write_pair(LFM2, tmp_path, changes={key: value}))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("clip.vision.is_deepstack_layers", [True, True], "is_deepstack_layers [True, True] is not supported"),
        ("clip.vision.is_deepstack_layers", "yes", "is_deepstack_layers 'yes' is not supported"),
        ("clip.vision.is_deepstack_layers", [True, False, True], "the first is 'visual.deepstack_merger_list.1."),
        ("clip.vision.attention.head_count", 4, "attention.head_count 4 is not supported"),
        ("clip.vision.spatial_merge_size", 0, "spatial_merge_size is 0: expected a positive integer"),
        ("clip.vision.image_min_pixels", 0, "image_min_pixels is 0: expected a positive integer"),
        ("clip.vision.patch_size", 5, "tensor 'v.patch_embd.weight' has the shape [24, 3, 4, 4]"),
        ("clip.use_gelu", None, "clip.use_gelu is not supported"),
    ],
)
def test_metadata_of_qwen3_vl_that_is_wrong_is_refused(tmp_path: Path, key: str, value: Any, words: str) -> None:
    assert words in refusal(write_pair(QWEN3, tmp_path, changes={key: value}))


def test_another_number_of_features_than_that_of_the_text_is_refused(tmp_path: Path) -> None:
    marks = {"clip.vision.is_deepstack_layers": [True, False, False]}
    words = "is_deepstack_layers has 1 true, but qwen3vl.n_deepstack_layers of model.gguf is 2: of another model"
    assert words in refusal(write_pair(QWEN3, tmp_path, changes=marks))


@pytest.mark.parametrize("sections", [[4, 2, 2, 8], [4, 2, 1, 0], [4, 2], [5, 4, -1, 0], None])
def test_other_axes_of_the_text_are_refused(tmp_path: Path, sections: list[int] | None) -> None:
    key = "qwen3vl.rope.dimension_sections"
    pair = write_pair(QWEN3, tmp_path, text_changes={key: sections})
    with pytest.raises(ModelFileInvalid, match=r"model.gguf: qwen3vl.rope.dimension_sections .*three axes, 8 in all"):
        read(pair)
    assert read_model(pair.text).config.vision is None


@pytest.mark.parametrize(
    ("changes", "text_changes", "words"),
    [
        ({"clip.vision.is_deepstack_layers": [True, False]}, {}, "has 1 true, but qwen35.n_deepstack_layers of model."),
        ({"clip.vision.is_deepstack_layers": [True, False]}, {"qwen35.n_deepstack_layers": 1}, "1 is not supported"),
        ({}, {"qwen35.rope.dimension_sections": [11, 11, 10, 0]}, "[11, 11, 10, 0] is not supported"),
    ],
)
def test_qwen35_has_no_features(
    tmp_path: Path, changes: dict[str, Any], text_changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ModelFileInvalid) as refused:
        read(write_pair(QWEN35, tmp_path, changes=changes, text_changes=text_changes))
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("clip.vision.attention.head_count_kv", 2, "head_count_kv 2 is not supported; supported: a divisor of the 3"),
        ("clip.vision.attention.head_count", 6, "head_count 6 is not supported; supported: heads of equal size"),
        ("clip.vision.projector.scale_factor", 1, "scale_factor 1 is not supported; supported: numbers from 2 on"),
        ("clip.vision.projector.scale_factor", 8, "scale_factor is 8: pictures of more than 16384 patches"),
        ("clip.use_gelu", False, "clip.use_gelu False is not supported"),
        ("clip.use_silu", True, "clip.use_silu True is not supported"),
        ("clip.vision.projector_type", "gemma4uv", "'gemma4uv' is not supported; supported: idefics3,"),
        ("clip.vision.embedding_length", 40, "tensor 'v.patch_embd.weight' has the shape [36, 3, 4, 4], its keys ask"),
    ],
)
def test_metadata_of_gemma4_that_is_wrong_is_refused(tmp_path: Path, key: str, value: Any, words: str) -> None:
    assert words in refusal(write_pair(GEMMA4, tmp_path, changes={key: value}))


@pytest.mark.parametrize(
    ("stored", "other", "words"),
    [
        (
            b"v.position_embd.weight",
            b"v.position_embs.weight",
            "no tensor 'v.position_embd.weight' of three dimensions",
        ),
        (b"v.blk.0.attn_q.input_max", b"v.blk.0.attn_q.input_mix", "the first is 'vision_tower.encoder.layers.0.self_"),
        (b"v.blk.0.attn_q.weight", b"v.blk.9.attn_q.weight", "no tensor 'v.blk.0.attn_q.weight' of two dimensions"),
    ],
)
def test_other_tensors_of_gemma4_are_refused(tmp_path: Path, stored: bytes, other: bytes, words: str) -> None:
    pair = write_pair(GEMMA4, tmp_path)
    pair.mmproj.write_bytes(pair.mmproj.read_bytes().replace(stored, other))
    assert words in refusal(pair)


def test_placeholders_of_gemma4_stand_for_the_padding_token(tmp_path: Path) -> None:
    for number, (given, expected) in enumerate([(3, 3), (None, 0)]):
        key = {"tokenizer.ggml.padding_token_id": given}
        vision = read_model(*write_pair(GEMMA4, tmp_path / str(number), text_changes=key)).config.vision
        assert vision is not None
        assert vision.stand_in_id == expected
    with pytest.raises(ModelFileInvalid, match=r"model.gguf: tokenizer.ggml.padding_token_id 210 .* vocabulary of 210"):
        read_model(*write_pair(GEMMA4, tmp_path / "wrong", text_changes={"tokenizer.ggml.padding_token_id": 210}))


def test_a_second_frame_is_needed(tmp_path: Path) -> None:
    pair = write_pair(QWEN3, tmp_path)
    content = pair.mmproj.read_bytes()
    pair.mmproj.write_bytes(content.replace(b"v.patch_embd.weight.1", b"v.patch_embd.weight.2"))
    assert "tensor 'v.patch_embd.weight.1' is missing" in refusal(pair)


@pytest.mark.parametrize(
    ("stored", "other", "words"),
    [
        (b"v.blk.1.ln1.weight", b"v.blk.7.ln1.weight", "1 tensors are missing, the first is 'vision_model.encoder"),
        (b"v.blk.1.ln1.weight", b"v.blk.0.ln1.weight", "'v.blk.0.ln1.weight'"),
        (b"mm.model.fc.weight", b"mm.model.xx.weight", "the first is 'connector.modality_projection.proj'"),
    ],
)
def test_other_tensors_are_refused(pair: Pair, stored: bytes, other: bytes, words: str) -> None:
    content = pair.mmproj.read_bytes()
    assert stored in content
    pair.mmproj.write_bytes(content.replace(stored, other))
    assert words in refusal(pair)


@pytest.mark.parametrize("part", [0.0, 0.001, 0.01, 0.05, 0.5, 0.999])
def test_truncated_files_are_refused(pair: Pair, part: float) -> None:
    content = pair.mmproj.read_bytes()
    pair.mmproj.write_bytes(content[: round(part * len(content))])
    refusal(pair)


@pytest.mark.filterwarnings("ignore")
def test_damaged_headers_are_read_or_refused(pair: Pair) -> None:
    content, random = pair.mmproj.read_bytes(), Random(1)
    refused: list[str | None] = []
    for _ in range(60):
        damaged = bytearray(content)
        for _ in range(random.choice([1, 2, 5])):
            damaged[random.randrange(6000)] = random.randrange(256)
        pair.mmproj.write_bytes(damaged)
        try:
            read(pair)
        except ModelFileInvalid as error:
            refused.append(error.param)
    assert set(refused) <= {"mmproj-model.gguf", "model.gguf"}
    assert 20 < len(refused) < 60


def test_other_files_are_refused(pair: Pair, tmp_path: Path) -> None:
    shutil.copy(pair.text, pair.mmproj)
    assert "general.architecture is 'llama', not clip" in refusal(pair)
    pair.mmproj.write_text("nothing")
    assert "not a GGUF file" in refusal(pair)
    with pytest.raises(ModelFileInvalid, match=r"the file of an encoder \(mmproj\); the model is"):
        read_model(write_pair(SMOLVLM, tmp_path / "again").mmproj)


def test_a_text_model_without_the_placeholder_is_refused(pair: Pair, tmp_path: Path) -> None:
    pair.text.write_bytes(pair.text.read_bytes().replace(b"<image>", b"<imago>"))
    with pytest.raises(ModelFileInvalid, match=r"model.gguf: tokenizer.ggml.tokens has no '<image>'.*mmproj-model"):
        read(pair)
    qwen = Pair(write_gguf(GOLDENS / "qwen2", tmp_path / "model.gguf"), pair.mmproj)
    assert "for text models of llama, but model.gguf has 'qwen2'" in refusal(qwen)


def test_files_of_older_converters_have_the_same_tensors(sound: Pair, tmp_path: Path) -> None:
    older = write_pair(
        SMOLVLM,
        tmp_path,
        names={"mlp.fc1": "ffn_down", "mlp.fc2": "ffn_up"},
        changes={"clip.projector_type": None, "clip.vision.projector_type": "idefics3"},
    )
    expected, found = (read_model(*each).tensors for each in (sound, older))
    assert list(found) == list(expected)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_an_encoder_of_sound_beside_it_is_not_used(pair: Pair) -> None:
    renamed = pair.mmproj.read_bytes().replace(b"v.blk.1.", b"a.blk.1.")
    pair.mmproj.write_bytes(renamed)
    assert "16 tensors are missing" in refusal(pair)

"""The file of a model's encoder is given, or found beside the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from cactus_actors.models.mmproj_path import find_mmproj
from cactus_actors.protocol.errors import ConfigurationInvalid, ModelFileInvalid


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    return path


@pytest.mark.parametrize("name", ["mmproj.gguf", "mmproj-model-f16.gguf", "mmproj-SmolVLM-256M-Instruct-Q8_0.gguf"])
def test_the_only_one_beside_the_model_is_found(model: Path, name: str) -> None:
    assert find_mmproj(model) is None
    model.with_name(name).write_bytes(b"GGUF")
    model.with_name("mmproj.txt").write_bytes(b"")
    model.with_name("mmproj-folder.gguf").mkdir()
    assert find_mmproj(model) == model.with_name(name)
    assert find_mmproj(model, "none") is None


def test_of_several_none_is_chosen_and_they_are_named(model: Path) -> None:
    for name in ("mmproj-F16.gguf", "mmproj-F32.gguf"):
        model.with_name(name).write_bytes(b"GGUF")
    said: list[str] = []
    assert find_mmproj(model, announce=said.append) is None
    assert said[0].endswith("name one with --mmproj: mmproj-F16.gguf, mmproj-F32.gguf")
    given = model.with_name("mmproj-F32.gguf")
    assert find_mmproj(model, str(given), said.append) == given
    assert len(said) == 1


def test_a_given_file_may_be_anywhere_and_have_any_name(model: Path, tmp_path: Path) -> None:
    model.with_name("mmproj.gguf").write_bytes(b"GGUF")
    (tmp_path / "elsewhere").mkdir()
    given = tmp_path / "elsewhere" / "encoder.gguf"
    given.write_bytes(b"GGUF")
    assert find_mmproj(model, str(given)) == given


@pytest.mark.parametrize("given", ["absent.gguf", "", "a\0b", "owner/name", "~nobody-here/x.gguf", "."])
def test_a_file_that_is_not_there_is_named(model: Path, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    with pytest.raises(ModelFileInvalid, match=r"^mmproj '") as refused:
        find_mmproj(model, given)
    assert refused.value.param == "mmproj"


def test_a_directory_has_its_own_encoder(tmp_path: Path) -> None:
    (tmp_path / "mmproj.gguf").write_bytes(b"GGUF")
    assert find_mmproj(tmp_path) is None
    assert find_mmproj(tmp_path, "none") is None
    with pytest.raises(ConfigurationInvalid, match="needs a GGUF model") as refused:
        find_mmproj(tmp_path, str(tmp_path / "mmproj.gguf"))
    assert refused.value.param == "mmproj"

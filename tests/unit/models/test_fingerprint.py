"""A model's fingerprint depends on the contents of its files, and on nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.fingerprint import (
    HEAD_BYTES,
    MAX_WHOLE_BYTES,
    NUM_PIECES,
    PIECE_BYTES,
    model_fingerprint,
)
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.text import load_text_model

SPROUT = resolve_model("cactus-sprout")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The embedded model at another path, under another name, with another modification time."""
    shutil.copytree(SPROUT, tmp_path / "other")
    for file in (tmp_path / "other").iterdir():
        os.utime(file, (1, 1))
    return tmp_path / "other"


def test_equal_files_have_the_same_fingerprint(copy: Path) -> None:
    (copy / "README.md").write_text("of no meaning")
    assert model_fingerprint(copy) == model_fingerprint(SPROUT)
    assert len(model_fingerprint(copy)) == 16
    assert load_text_model(copy).fingerprint == model_fingerprint(SPROUT)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_another_byte_gives_another_fingerprint(copy: Path, name: str, place: float) -> None:
    content = bytearray((copy / name).read_bytes())
    content[round(place * (len(content) - 1))] ^= 1
    (copy / name).write_bytes(content)
    assert model_fingerprint(copy) != model_fingerprint(SPROUT)


def test_the_fingerprint_of_large_weights_samples_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    length = HEAD_BYTES + 40 * NUM_PIECES * PIECE_BYTES
    assert length > MAX_WHOLE_BYTES
    with path.open("wb") as file:
        file.truncate(length)
    before = model_fingerprint(path)
    for distance in range(HEAD_BYTES - 1, length, (length - HEAD_BYTES) // 7):
        with path.open("r+b") as file:  # as training does: no part of a tensor keeps its values
            file.seek(distance)
            file.write(b"\1" * min(41 * PIECE_BYTES, length - distance))
        assert model_fingerprint(path) != before
        with path.open("r+b") as file:
            file.seek(distance)
            file.write(b"\0" * min(41 * PIECE_BYTES, length - distance))
    assert model_fingerprint(path) == before
    with path.open("r+b") as file:
        file.truncate(length - 1)
    assert model_fingerprint(path) != before


def test_an_encoder_in_its_own_file_counts(tmp_path: Path) -> None:
    text, mmproj, other = (tmp_path / f"{name}.gguf" for name in ("text", "mmproj", "other"))
    for path in (text, mmproj, other):
        path.write_bytes(path.stem.encode())
    found = [model_fingerprint(text), model_fingerprint(text, mmproj), model_fingerprint(text, other)]
    assert len(set(found)) == 3
    mmproj.write_bytes(b"other")
    assert model_fingerprint(text, mmproj) == found[2]


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").symlink_to(tmp_path / "gone")
    with pytest.raises(ModelFileInvalid, match=r"model\.safetensors"):
        model_fingerprint(tmp_path)

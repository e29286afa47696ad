"""Pictures in the messages of the functions, from Python and from C."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.sdk import CactusModel, cactus_complete, cactus_destroy, cactus_init
from tests.goldens.sample_pictures import sample_picture
from tests.support.models.served_pictures import write_served_model
from tests.support.text.c_compiler import needs_compiler, run
from tests.support.text.c_programs import BASIC

OPTIONS = {"temperature": 0.0, "max_tokens": 8, "ignore_eos": True}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with two pictures and a vision model."""
    directory = tmp_path_factory.mktemp("pictures")
    for seed in range(2):
        sample_picture(40, 30, seed).save(directory / f"{seed}.png")
    write_served_model(directory / "model", "smolvlm")
    return directory


@pytest.fixture(scope="module")
def model(directory: Path) -> Iterator[CactusModel]:
    model = cactus_init(directory / "model", threads=1)
    yield model
    cactus_destroy(model)


def messages(*images: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "What is it?", "images": list(images)}]


def answer(model: CactusModel, *images: str) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(cactus_complete(model, json.dumps(messages(*images)), OPTIONS))
    return whole


def test_images_are_files_of_this_machine(model: CactusModel, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(directory)
    first, second = answer(model, "0.png"), answer(model, str(directory / "1.png"))
    assert first["success"]
    assert first["text"] != second["text"]
    assert answer(model, (directory / "0.png").as_uri())["text"] == first["text"]
    missing = answer(model, "0.png", "2.png")
    assert not missing["success"]
    assert "picture 1: " in missing["error"]


def test_a_file_of_several_megabytes_is_read(model: CactusModel, directory: Path) -> None:
    large = directory / "large.png"
    large.write_bytes((directory / "0.png").read_bytes().ljust(5 << 20, b"\0"))
    assert answer(model, str(large))["text"] == answer(model, str(directory / "0.png"))["text"]


def test_a_text_model_refuses_pictures(shared_model: CactusModel, directory: Path) -> None:
    refused = answer(shared_model, str(directory / "0.png"))
    assert not refused["success"]
    assert "cactus-sprout is a text model" in refused["error"]


@needs_compiler
def test_a_c_program_asks_about_a_picture(library: Path, model: CactusModel, directory: Path, tmp_path: Path) -> None:
    asked = json.dumps(json.dumps(messages(str(directory / "0.png"))))
    program = BASIC.replace("/path/to/model", str(directory / "model"))
    begin, end = program.index('"["'), program.index('"]"') + 3
    program = program[:begin] + asked + program[end:]
    program = program.replace("NULL,  // default options", f"{json.dumps(json.dumps(OPTIONS))},")
    said = json.loads(run(program, library, tmp_path))
    assert said["success"]
    assert said["text"] == answer(model, str(directory / "0.png"))["text"]

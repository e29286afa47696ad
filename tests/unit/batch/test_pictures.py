"""Prompt files with pictures: their files are sent beside the requests."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

from cactus_actors.batch import BatchProgress
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.pictures import PictureFrame
from tests.support.router.batch_runs import records
from tests.support.router.scripted_router import ScriptedRouter

CONTENT = b"\x89PNG"
URL = f"data:;base64,{base64.b64encode(CONTENT).decode()}"


def write(source: Path) -> None:
    (source.parent / "pictures").mkdir()
    (source.parent / "pictures/a.png").write_bytes(CONTENT)
    part = {"type": "image_url", "image_url": {"url": "pictures/a.png"}}
    body = {"messages": [{"role": "user", "content": [part]}]}
    lines = [
        {"messages": [{"role": "user", "content": "What is it?", "images": ["pictures/a.png", URL]}]},
        {"custom_id": "b", "method": "POST", "url": "/v1/chat/completions", "body": body},
        {"custom_id": "c", "messages": [{"role": "user", "content": "?", "images": ["pictures/a.png", "no.png"]}]},
    ]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_paths_are_relative_to_the_prompt_file_and_errors_name_line_and_picture(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    write(source)
    progress = run(pictures=source.parent)
    assert (progress.num_succeeded, progress.num_failed) == (2, 1)
    [first, second] = [submit.messages for submit in router.submitted()]
    by_images, by_part = (first, second) if first and first[0].images else (second, first)
    assert by_images is not None
    assert by_images[0].images == [PictureFrame(0), URL]
    assert by_part is not None
    assert by_part[0].content[0].image_url == {"frame": 0}
    assert router.pictures == [[CONTENT], [CONTENT]]
    error = records(tmp_path / "out.errors.jsonl")["c"]["error"]
    assert error["param"] == "messages[0].images[1]"
    assert error["message"].startswith("line 3: picture 1: ")


def test_a_run_without_a_directory_leaves_paths_to_the_service(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path
) -> None:
    write(source)
    assert run().num_succeeded == 3
    asked = [submit.messages[0].images for submit in router.received_of(Submit)]  # type: ignore[union-attr, index]
    assert ["pictures/a.png", "no.png"] in asked

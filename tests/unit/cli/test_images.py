"""Pictures of the command line are sent beside the request."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer.testing

from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.messages import ChatMessage, Rejected, Submit
from cactus_actors.protocol.pictures import MAX_PICTURE_BYTES, PictureFrame
from tests.support.router.scripted_router import ScriptedRouter

Cactus = Callable[..., typer.testing.Result]

CONTENT = b"\x89PNG"


@pytest.fixture
def picture(tmp_path: Path) -> str:
    (tmp_path / "a picture.png").write_bytes(CONTENT)
    return "a picture.png"


def sent_images(router: ScriptedRouter) -> list[list[list[bytes] | None]]:
    """The pictures of the messages of each request."""
    submits = [message for message in router.received_of(Submit) if isinstance(message, Submit)]
    return [
        [_contents(turn, pictures) for turn in submit.messages or []]
        for submit, pictures in zip(submits, router.pictures, strict=True)
    ]


def _contents(turn: ChatMessage, pictures: list[bytes]) -> list[bytes] | None:
    if turn.images is None:
        return None
    return [pictures[image.frame] for image in turn.images if isinstance(image, PictureFrame)]


def test_complete_asks_about_files(cactus: Cactus, router: ScriptedRouter, picture: str) -> None:
    cactus("complete", "What is it?", "--image", picture, "--image", picture, "--system", "brief")
    cactus("complete", "What is it?")
    assert sent_images(router) == [[None, [CONTENT, CONTENT]], [None]]


def test_a_chat_asks_the_next_question_about_a_file(cactus: Cactus, router: ScriptedRouter, picture: str) -> None:
    result = cactus("chat", input=f"/image {picture}\none\ntwo\n/image {picture}\n/image\nthree\n")
    assert sent_images(router)[-1] == [[CONTENT], None, None, None, None]
    assert "pictures of the next question: 1" in result.stderr
    assert "pictures of the next question: 0" in result.stderr


@pytest.mark.parametrize("typed", ['"a picture.png"', "'a picture.png'", r"a\ picture.png", "a picture.png"])
def test_a_chat_reads_a_file_whose_name_is_quoted(
    cactus: Cactus, router: ScriptedRouter, picture: str, typed: str
) -> None:
    cactus("chat", input=f"/image {typed}\none\n")
    assert sent_images(router) == [[[CONTENT]]]


def test_a_chat_takes_quotes_and_apostrophes_of_a_name_as_they_are(
    cactus: Cactus, router: ScriptedRouter, tmp_path: Path
) -> None:
    for name in ('"quoted".png', "it's.png"):
        (tmp_path / name).write_bytes(CONTENT)
        cactus("chat", input=f"/image {name}\none\n")
    assert sent_images(router) == [[[CONTENT]]] * 2
    for name in ("it's gone.png", "n" * 5000):
        assert f"/image: {name}" in cactus("chat", input=f"/image {name}\n").stderr


def test_a_chat_asks_again_about_the_same_file(cactus: Cactus, router: ScriptedRouter, picture: str) -> None:
    cactus("chat", input=f"/image {picture}\none\n/retry\n")
    assert sent_images(router) == [[[CONTENT]], [[CONTENT]]]


def test_a_saved_conversation_has_its_pictures_inside(
    cactus: Cactus, router: ScriptedRouter, picture: str, tmp_path: Path
) -> None:
    cactus("chat", input=f"/image {picture}\none\ntwo\n/save said.json\n")
    turns = json.loads((tmp_path / "said.json").read_bytes())["messages"]
    assert turns[0]["images"] == ["data:;base64,iVBORw=="]
    assert "images" not in turns[2]


def test_a_file_that_cannot_be_read_or_sent_is_refused(cactus: Cactus, router: ScriptedRouter, tmp_path: Path) -> None:
    (tmp_path / "large.png").write_bytes(bytes(MAX_PICTURE_BYTES + 1))
    for name, reason in (
        ("missing.png", "No such file"),
        (".", "directory"),
        ("large.png", "larger than the 16777216"),
    ):
        with pytest.raises(InvalidRequest, match=reason):
            cactus("complete", "What is it?", "--image", name)
        assert reason in cactus("chat", input=f"/image {name}\n").stderr
    with pytest.raises(InvalidRequest, match="--image needs the chat template"):
        cactus("complete", "What is it?", "--image", "large.png", "--raw")
    assert router.received_of(Submit) == []


def test_a_text_model_refuses_a_picture_and_the_chat_goes_on(
    cactus: Cactus, router: ScriptedRouter, picture: str
) -> None:
    answer = router.on_submit

    def without_pictures(identity: bytes, submit: Submit) -> None:
        if not (submit.messages or [])[-1].images:
            return answer(identity, submit)
        error = NotSupported("letters is a text model", param="messages[0].images").info()
        return router.reply(identity, Rejected(error=error, job_id=submit.job_id))

    router.on_submit = without_pictures  # type: ignore[method-assign]
    result = cactus("chat", input=f"/image {picture}\none\ntwo\n")
    assert "error: letters is a text model" in result.stderr
    assert result.stdout == "two w1 w2 w3 w4\n"
    assert sent_images(router) == [[[CONTENT]], [None]]

"""Pictures of a client: those that the client reads, and those that it leaves to the service."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.client.picture_files import picture_of_file, with_given_pictures, with_read_pictures
from cactus_actors.client.submit import encoded, make_submit
from cactus_actors.protocol.errors import InvalidRequest, MediaInvalid, MediaTooLarge
from cactus_actors.protocol.pictures import MAX_PICTURE_BYTES, MAX_REQUEST_PICTURE_BYTES, PictureFrame

CONTENT = b"\x89PNG"
URL = f"data:;base64,{base64.b64encode(CONTENT).decode()}"


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "a picture.png"
    path.write_bytes(CONTENT)
    return path


def asking(*images: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "What is it?", "images": list(images)}]


def test_a_pipe_is_no_picture(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(MediaInvalid, match="no regular file"):
        picture_of_file(tmp_path / "pipe.png")


def test_one_picture_is_no_list_of_pictures() -> None:
    for picture in (Path("a.png"), b"content"):
        with pytest.raises(InvalidRequest, match="must be a list of pictures") as caught:
            with_given_pictures([{"role": "user", "content": "Hi", "images": picture}])
        assert caught.value.param == "messages[0].images"


def test_without_frames_pictures_are_sent_inside_the_request_and_texts_are_the_services(picture: Path) -> None:
    given = [picture, CONTENT, bytearray(CONTENT), str(picture), "https://example.com/a.png", URL]
    messages = [*asking(*given), {"role": "user", "content": [{"type": "image_url", "image_url": {"url": picture}}]}]
    submit = make_submit(messages=messages, options={})
    assert submit.messages is not None
    assert submit.messages[0].images == [URL, URL, URL, str(picture), "https://example.com/a.png", URL]
    assert isinstance(submit.messages[1].content, list)
    assert submit.messages[1].content[0].image_url == {"url": URL}
    assert messages[0]["images"] == given, "the caller's messages are as before"


def test_bytes_and_path_objects_become_frames_each_content_once(picture: Path) -> None:
    other = CONTENT + b"other"
    parts = [
        {"type": "image_url", "image_url": {"url": picture, "detail": "low"}},
        {"type": "input_image", "image_url": other},
        {"type": "text", "text": "x"},
    ]
    messages = [*asking(picture, str(picture), CONTENT, other), {"role": "user", "content": parts}]
    frames: list[bytes] = []
    submit = make_submit(messages=messages, options={}, frames=frames)
    assert frames == [CONTENT, other]
    first, second = submit.messages or []
    assert first.images == [PictureFrame(0), str(picture), PictureFrame(0), PictureFrame(1)]
    assert isinstance(second.content, list)
    assert [part.image_url for part in second.content] == [{"detail": "low", "frame": 0}, {"frame": 1}, None]
    to_send = encoded(submit, frames)
    assert to_send.frames[2:] == (CONTENT, other)
    assert to_send.num_bytes == sum(map(len, to_send.frames))
    assert to_send.frames[:2] == encoded(submit).frames


def test_the_frames_of_a_request_have_a_limit() -> None:
    contents = [bytes([number]) * MAX_PICTURE_BYTES for number in range(2)]
    with pytest.raises(MediaTooLarge, match=f"picture 2: .*{MAX_REQUEST_PICTURE_BYTES} can be sent together"):
        with_given_pictures(asking(contents[0], contents[0], contents[1]), [])


def test_paths_are_relative_to_a_directory_where_texts_are_read(picture: Path) -> None:
    name = picture.name
    sources = [name, str(picture), picture.as_uri(), "https://example.com/a.png", URL, CONTENT]
    parts = [{"type": "input_image", "image_url": name}, {"type": "text", "text": "x"}]
    first, second = with_read_pictures([*asking(*sources), {"role": "user", "content": parts}], picture.parent)
    assert first["images"] == [URL, URL, URL, "https://example.com/a.png", URL, URL]
    assert second["content"] == [{"type": "input_image", "image_url": URL}, {"type": "text", "text": "x"}]


@pytest.mark.parametrize("messages", [None, "text", [1], {}, [{"role": "user", "images": None, "content": "a"}]])
def test_other_values_are_left_to_the_checks_of_types(messages: Any, tmp_path: Path) -> None:
    assert with_read_pictures(messages, tmp_path) == messages


def test_errors_have_the_index_of_the_picture_and_its_field(picture: Path) -> None:
    large = picture.with_name("large.png")
    large.write_bytes(bytes(MAX_PICTURE_BYTES + 1))
    for bad, kind, reason in (
        (picture.with_name("missing.png"), MediaInvalid, "No such file"),
        (picture.parent, MediaInvalid, "[Dd]irectory|no regular file"),
        (large, MediaTooLarge, "larger than the 16777216 bytes"),
        (bytes(MAX_PICTURE_BYTES + 1), MediaTooLarge, "larger than the 16777216 bytes"),
    ):
        messages = [*asking(CONTENT, CONTENT), *asking(bad)]
        with pytest.raises(kind, match=f"picture 2: .*({reason})") as caught:
            make_submit(messages=messages, options={})
        assert caught.value.param == "messages[1].images[0]"
    for name in ("missing.png", "", "/dev/null", "a\0b"):
        with pytest.raises(MediaInvalid, match="picture 0: "):
            with_read_pictures(asking(name), picture.parent)

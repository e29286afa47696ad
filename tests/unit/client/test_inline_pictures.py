"""Large data URLs of a request are sent as frames; all others stay as they are."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cactus_actors.client.inline_pictures import SMALL_CHARACTERS
from cactus_actors.client.picture_files import data_url
from cactus_actors.client.submit import encoded, make_submit
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.pictures import MAX_PICTURE_BYTES, PictureFrame
from cactus_actors.protocol.wire import RequestDecoder
from cactus_actors.vision.picture_reader import PictureReader

LARGE, OTHER = (random.Random(seed).randbytes(60_000) for seed in range(2))


def sent(submit: Submit, frames: list[bytes] | None = None) -> tuple[Any, list[bytes]]:
    message, pictures = RequestDecoder().decode(encoded(submit, frames or []).frames)
    return message, list(pictures)


def asking(*images: Any, content: Any = "What is it?") -> Submit:
    return make_submit(messages=[{"role": "user", "content": content, "images": list(images)}], options={})


def test_large_data_urls_become_frames_each_content_once() -> None:
    part = {"type": "image_url", "image_url": {"url": data_url(OTHER), "detail": "low"}}
    message, pictures = sent(asking(data_url(LARGE), "a.png", data_url(LARGE), content=[part]))
    [turn] = message.messages
    assert turn.images == [PictureFrame(0), "a.png", PictureFrame(0)]
    assert turn.content[0].image_url == {"frame": 1}
    assert pictures == [LARGE, OTHER]


def test_frames_that_are_given_come_first() -> None:
    message, pictures = sent(asking({"frame": 0}, data_url(LARGE), data_url(OTHER)), [OTHER])
    assert message.messages[0].images == [PictureFrame(0), PictureFrame(1), PictureFrame(0)]
    assert pictures == [OTHER, LARGE]


def test_pictures_of_a_prompt_become_frames() -> None:
    submit = Submit(job_id="0" * 32, prompt="<__media__>", images=[data_url(LARGE)])
    message, pictures = sent(submit)
    assert (message.images, pictures) == ([PictureFrame(0)], [LARGE])


def test_the_service_reads_the_same_content_from_either_form() -> None:
    _, [picture] = sent(asking(data_url(LARGE)))
    assert picture == PictureReader().read(data_url(LARGE)) == LARGE


@pytest.mark.parametrize(
    "url",
    [
        data_url(LARGE[:3000]),
        "data:image/png," + "A" * 2 * SMALL_CHARACTERS,
        data_url(LARGE)[:-1] + "!",
        data_url(LARGE).replace("A", "%41"),
        "x" * 2 * SMALL_CHARACTERS,
    ],
)
def test_other_texts_stay_in_the_request(url: str) -> None:
    message, pictures = sent(asking(url))
    assert (message.messages[0].images, pictures) == ([url], [])


def test_a_picture_that_is_too_large_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="at most 4194304 can be sent"):
        encoded(asking(data_url(bytes(MAX_PICTURE_BYTES + 3))))

"""Prompts of text with pictures, without a chat template: a marker takes the place of each picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.pictures import GivenPicture, PreparedPicture
from cactus_actors.router.preparation.length_limits import check_length
from cactus_actors.router.preparation.picture_content import PictureSource
from cactus_actors.router.preparation.picture_contents import PictureContents
from cactus_actors.router.preparation.prompt_model import PromptModel
from cactus_actors.router.preparation.request_pictures import request_pictures
from cactus_actors.vision.prompt_pictures import with_pictures, with_placeholders

MARKER = "<__media__>"
"""llama.cpp's marker (libmtmd's default)."""


class MediaPrompt(NamedTuple):
    """A prompt's text as given, its ids with the placeholders of its pictures, and the pictures."""

    text: str
    ids: list[int]
    pictures: tuple[PreparedPicture, ...]


def media_prompt(
    prompt: object, images: Sequence[GivenPicture], model: PromptModel, contents: PictureContents
) -> MediaPrompt:
    """The prompt with `images` at its markers; raises InvalidRequest and its kinds, as `request_pictures` does."""
    if model.pictures is None:
        raise NotSupported(f"{model.name} is a text model: pictures cannot be read", param="images")
    if not isinstance(prompt, str):
        raise InvalidRequest(f"pictures go with a prompt of text that has {MARKER} in their places", param="images")
    check_length(prompt, "prompt", model)
    num_markers = prompt.count(MARKER)
    if num_markers != len(images):
        raise InvalidRequest(
            f"the prompt has {num_markers} times {MARKER}, and {len(images)} pictures are given", param="prompt"
        )
    sources = [PictureSource(image, f"images[{place}]") for place, image in enumerate(images)]
    processed = request_pictures(sources, model, contents)
    pictures = tuple(one.picture for one in processed)
    marked = [one._replace(text=one.marked_text) for one in processed]
    ids = model.tokenizer.encode(with_pictures(prompt, MARKER, marked), add_special=True)
    return MediaPrompt(prompt, with_placeholders(ids, model.pictures.config.image_token_id, pictures), pictures)


def check_images(submit: Submit) -> None:
    """Raise InvalidRequest for pictures of a request that has no prompt of text to continue."""
    if not submit.images:
        return
    if submit.messages is not None:
        raise InvalidRequest("images of a request go with a prompt; messages have images of their own", param="images")
    if submit.task != "generate":
        raise NotSupported("pictures have no embedding here", param="images")
    if submit.options.suffix is not None:
        raise InvalidRequest("images and suffix exclude each other", param="images")

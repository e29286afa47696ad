"""Reads and prepares the pictures of a request."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from cactus_actors.protocol.errors import ContextExceeded, MediaInvalid, MediaNotAllowed, MediaTooLarge, NotSupported
from cactus_actors.protocol.messages import Submit
from cactus_actors.router.preparation.picture_cache import CachedPicture
from cactus_actors.router.preparation.picture_content import PictureSource, sources_of
from cactus_actors.router.preparation.picture_contents import PictureContents
from cactus_actors.router.preparation.prompt_model import PromptModel
from cactus_actors.vision.picture_limits import LIMITS, PictureLimits
from cactus_actors.vision.picture_processor import PictureProcessor, ProcessedPicture
from cactus_actors.vision.picture_reader import FETCH_LIMIT_S


def request_pictures(
    sources: Sequence[PictureSource], model: PromptModel, contents: PictureContents, limits: PictureLimits = LIMITS
) -> list[ProcessedPicture]:
    """The pictures of a request as the model takes them.

    Raises MediaInvalid, MediaNotAllowed or MediaTooLarge with the picture's index in the request, from 0, and its
    field; and ContextExceeded if the pictures alone do not fit the context.
    """
    if not sources:
        return []
    from cactus_actors.vision.picture_decoder import check_size  # a text model needs no Pillow

    processor = model.pictures
    assert processor is not None, "others refuse pictures"
    if len(sources) > limits.max_pictures:
        raise MediaTooLarge(f"{len(sources)} pictures, {limits.max_pictures} are allowed", param="messages")
    pictures: list[ProcessedPicture] = []
    until = time.monotonic() + FETCH_LIMIT_S
    pixels_left, bytes_left, tokens_left = limits.max_total_pixels, limits.max_prepared_bytes, model.max_context
    for index, source in enumerate(sources):
        with _errors_name_picture(index, source.param):
            max_pixels = min(limits.max_pixels, pixels_left)
            encoded = contents.picture_of(source.source, max(until - time.monotonic(), 0.0))
            picture = contents.prepared(encoded, partial(_prepared, max_pixels=max_pixels, processor=processor))
            check_size(picture.width, picture.height, max_pixels)  # of one that was prepared before
            pixels_left -= picture.width * picture.height
            processed = picture.processed
            bytes_left -= processed.picture.num_bytes
            if bytes_left < 0:
                raise MediaTooLarge(f"the pictures so far take more than {limits.max_prepared_bytes} bytes of pixels")
        tokens_left -= processed.picture.num_tokens
        if tokens_left <= 0:
            raise ContextExceeded(
                f"the first {index + 1} pictures do not fit a context of {model.max_context} tokens", param="messages"
            )
        pictures.append(processed)
    return pictures


def check_sees(submit: Submit, name: str, models: Mapping[str, PromptModel]) -> None:
    """Raise NotSupported, with the models that see, for pictures that `name` of several models cannot read."""
    if len(models) == 1 or models[name].pictures is not None:
        return
    first = next(sources_of(submit), None)
    if first is not None:
        seeing = [other for other, model in models.items() if model.pictures is not None]
        hint = f"; models of this service that read them: {', '.join(seeing)}" if seeing else ""
        raise NotSupported(f"{name} is a text model: pictures cannot be read{hint}", param=first.param)


def _prepared(content: bytes, max_pixels: int, processor: PictureProcessor) -> CachedPicture:
    from cactus_actors.vision.picture_decoder import decoded

    picture = decoded(content, max_pixels)
    return CachedPicture(picture.width, picture.height, processor.process(picture))


@contextmanager
def _errors_name_picture(index: int, param: str) -> Iterator[None]:
    try:
        yield
    except (MediaInvalid, MediaNotAllowed, MediaTooLarge) as error:
        raise type(error)(f"picture {index}: {error.message}", param=param) from None

"""A model without files that takes pictures: a picture is two tokens of a prompt."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from PIL import Image

from cactus_actors.protocol.pictures import PictureTile
from cactus_actors.text.chat_prompt import ChatPrompt
from cactus_actors.vision.picture_config import PictureConfig
from cactus_actors.vision.picture_processor import PictureProcessor, ProcessedPicture
from cactus_actors.vision.prompt_pictures import with_placeholders
from tests.goldens.sample_pictures import sample_picture
from tests.support.router.letter_model import LetterModel

TOKEN = "~"
SIDE = 8


class LetterPictures:
    """Each picture becomes one tile of its upper left corner."""

    config = PictureConfig(
        family="idefics3",
        patch_size=SIDE,
        merge_size=1,
        image_token_id=ord(TOKEN),
        mean=(0.5, 0.5, 0.5),
        std=(0.5, 0.5, 0.5),
        rescale=1 / 255,
        resampling="bilinear",
    )
    placeholder = image_token = TOKEN

    def process(self, picture: Image.Image) -> ProcessedPicture:
        corner = picture.crop((0, 0, SIDE, SIDE))
        return ProcessedPicture.of([PictureTile(SIDE, SIDE, 2, corner.tobytes())], TOKEN)


class PictureLetters(LetterModel):
    """Letters and pictures."""

    pictures: PictureProcessor | None = LetterPictures()

    @staticmethod
    def pixels_of(content: bytes) -> bytes:
        """The pixels of the tile of a picture."""
        return LetterPictures().process(Image.open(io.BytesIO(content))).picture.tiles[0].pixels

    def chat_prompt(self, messages: Sequence[Any], *arguments: Any, **options: Any) -> ChatPrompt:
        pictures = [one.picture for one in options["pictures"]]
        flat = [{**message, "content": _flat(message["content"])} for message in messages]
        prompt = super().chat_prompt(flat, *arguments, **options)
        return prompt._replace(ids=with_placeholders(prompt.ids, ord(TOKEN), pictures))


def _flat(content: Any) -> str:
    parts = [{"text": content}] if isinstance(content, str) else content
    return "".join(part.get("text", TOKEN) for part in parts)


def png(seed: int, side: int = SIDE) -> bytes:
    """The file of a picture; those of two seeds differ."""
    content = io.BytesIO()
    sample_picture(side, side, seed).save(content, "PNG")
    return content.getvalue()

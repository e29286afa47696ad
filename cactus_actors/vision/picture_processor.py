"""The interface of the families: a decoded picture becomes tiles, and text that represents it in the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cactus_actors.protocol.pictures import PictureTile, PreparedPicture
from cactus_actors.vision.picture_config import PictureConfig

if TYPE_CHECKING:  # a model of text alone needs no Pillow
    from PIL import Image


class ProcessedPicture(NamedTuple):
    """A picture for the encoder; `text` has the image token once for each tile.

    `marked_text` is its text in a prompt without a chat template, if the template writes a part of it.
    """

    picture: PreparedPicture
    text: str
    marked_text: str

    @classmethod
    def of(cls, tiles: Sequence[PictureTile], text: str, marked_text: str | None = None) -> ProcessedPicture:
        return cls(PreparedPicture.of(tiles), text, text if marked_text is None else marked_text)


class PictureProcessor(Protocol):
    """Prepares pictures for one model."""

    @property
    def config(self) -> PictureConfig: ...

    @property
    def placeholder(self) -> str:
        """The text that the model's chat template writes for a picture."""

    @property
    def image_token(self) -> str:
        """The text of the placeholder token of an embedding."""

    def process(self, picture: Image.Image) -> ProcessedPicture:
        """The tiles of a picture in RGB, and its text; raises MediaInvalid for an unsupported shape."""


class TokenTexts(Protocol):
    """The part of a tokenizer that is used here."""

    def token_of(self, token_id: int) -> str | None: ...

    def is_special(self, token_id: int) -> bool: ...

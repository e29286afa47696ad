"""Writes the text and the placeholder tokens of pictures into a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cactus_actors.protocol.errors import TemplateInvalid
from cactus_actors.protocol.pictures import PreparedPicture
from cactus_actors.vision.picture_processor import ProcessedPicture


def with_pictures(prompt: str, placeholder: str, pictures: Sequence[ProcessedPicture]) -> str:
    """The prompt with each picture's text in place of a placeholder that the chat template wrote.

    Raises TemplateInvalid unless the template wrote one for each picture.
    """
    first, *others = prompt.split(placeholder)
    if len(others) != len(pictures):
        raise TemplateInvalid(
            f"the chat template shows {len(others)} of the {len(pictures)} pictures of the messages", param="messages"
        )
    return first + "".join(picture.text + after for picture, after in zip(pictures, others, strict=True))


def with_placeholders(ids: Sequence[int], image_token_id: int, pictures: Sequence[PreparedPicture]) -> list[int]:
    """The ids in which each tile's single image token is repeated as often as the tile has tokens.

    Raises TemplateInvalid if there are more or fewer image tokens than tiles.
    """
    counts: Iterator[int] = (tile.num_tokens for picture in pictures for tile in picture.tiles)
    num_tiles = sum(len(picture.tiles) for picture in pictures)
    if sum(token_id == image_token_id for token_id in ids) != num_tiles:
        raise TemplateInvalid("the tokenizer does not write the pictures' tokens one by one", param="messages")
    expanded: list[int] = []
    for token_id in ids:
        if token_id == image_token_id:
            expanded += [token_id] * next(counts)
        else:
            expanded.append(token_id)
    return expanded

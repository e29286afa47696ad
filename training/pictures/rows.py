"""Lessons as rows of tokens: a picture, and questions that see it and not one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image
from tokenizers import Tokenizer

from cactus_actors.vision.idefics3 import Idefics3Pictures
from cactus_actors.vision.picture_config import PictureConfig
from training.pictures.cells import cell_labels, patch_labels
from training.pictures.lessons import Lesson
from training.pictures.network import VisionShape
from training.vocabulary import END_OF_TEXT, TURN_END, TURN_START, train_tokenizer

IMAGE, AROUND_IMAGE, WHOLE_IMAGE = "<image>", "<fake_token_around_image>", "<global-img>"
SPECIAL_TOKENS = (END_OF_TEXT, TURN_START, TURN_END, IMAGE, AROUND_IMAGE, WHOLE_IMAGE)
ROW_LENGTH = 160
PROMPT_WEIGHT = 0.1
PREFIX = 0
"""The document of the tokens that all questions of a row see."""
PADDING = -1
_OPENING = f"{TURN_START}user\n"
_BEFORE_IMAGE = AROUND_IMAGE + WHOLE_IMAGE


@dataclass(frozen=True, slots=True)
class PictureRows:
    """Rows of one lesson each.

    pictures (rows, 3, side, side) bytes, black for a lesson without one; cells (rows, 2, embeddings) and patches
    (rows, 2, patches), see `cell_labels` and `patch_labels`; tokens, positions, documents (rows, length); weights
    (rows, length), the loss weight of predicting the token AFTER this one. Tokens see the PREFIX and their own
    document.
    """

    pictures: npt.NDArray[np.uint8]
    cells: npt.NDArray[np.int64]
    patches: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]


class RowMaker:
    """Writes lessons into rows, with pictures as the service prepares them."""

    def __init__(self, tokenizer: Tokenizer, shape: VisionShape) -> None:
        self._tokenizer = tokenizer
        self._pictures = Idefics3Pictures(picture_config(shape, self.id_of(IMAGE)), IMAGE)
        self._shape = shape

    def id_of(self, token: str) -> int:
        """The id of a special token."""
        token_id = self._tokenizer.token_to_id(token)
        assert token_id is not None, f"the tokenizer has no {token}"
        return int(token_id)

    @property
    def picture_start(self) -> int:
        """The place in a row of its first image token."""
        return len(self._ids(_OPENING + _BEFORE_IMAGE))

    def rows(self, lessons: Iterator[Lesson], num_rows: int) -> PictureRows:
        """The next lessons in `num_rows` rows."""
        chosen = [next(lessons) for _ in range(num_rows)]
        shape = self._shape
        tokens = np.full((num_rows, ROW_LENGTH), self.id_of(END_OF_TEXT), np.int64)
        documents = np.full((num_rows, ROW_LENGTH), PADDING, np.int64)
        positions = np.zeros((num_rows, ROW_LENGTH), np.int64)
        weights = np.zeros((num_rows, ROW_LENGTH), np.float32)
        pictures = np.zeros((num_rows, 3, shape.image_size, shape.image_size), np.uint8)
        cells = np.zeros((num_rows, 2, shape.num_tokens), np.int64)
        patches = np.zeros((num_rows, 2, shape.num_patches), np.int64)
        for row, lesson in enumerate(chosen):
            self._write(lesson, tokens[row], positions[row], documents[row], weights[row])
            if lesson.picture is not None and lesson.scene is not None:
                pictures[row] = self._pixels(lesson.picture)
                cells[row] = cell_labels(lesson.scene, shape.tokens_per_side)
                patches[row] = patch_labels(lesson.scene, shape.patches_per_side)
        return PictureRows(pictures, cells, patches, tokens, positions, documents, weights)

    def _pixels(self, picture: Image.Image) -> npt.NDArray[np.uint8]:
        """(3, side, side)."""
        [tile] = self._pictures.process(picture).picture.tiles
        return np.frombuffer(tile.pixels, np.uint8).reshape(tile.height, tile.width, 3).transpose(2, 0, 1)

    def _write(
        self,
        lesson: Lesson,
        tokens: npt.NDArray[np.int64],
        positions: npt.NDArray[np.int64],
        documents: npt.NDArray[np.int64],
        weights: npt.NDArray[np.float32],
    ) -> None:
        text = _OPENING
        if lesson.picture is not None:
            text += _BEFORE_IMAGE + IMAGE * self._shape.num_tokens + AROUND_IMAGE
        prefix = self._ids(text)
        end = len(prefix)
        tokens[:end], documents[:end], positions[:end] = prefix, PREFIX, np.arange(end)
        place, position = end, end
        for number, question in enumerate(lesson.questions):
            opening = _OPENING if lesson.is_chat and number else ""
            prompt = self._ids(f"{opening}{question.text}{TURN_END}\n{TURN_START}assistant\n")
            answer = self._ids(f"{question.answer}{TURN_END}")
            ids = [*prompt, *answer, *self._ids("\n")]
            if place + len(ids) > ROW_LENGTH:
                break
            stop = place + len(ids)
            tokens[place:stop] = ids
            documents[place:stop] = PREFIX if lesson.is_chat else number + 1
            positions[place:stop] = np.arange(position, position + len(ids))
            weights[place : stop - 1] = PROMPT_WEIGHT
            first = place + len(prompt) - 1  # predicts the answer's first token
            weights[first : first + len(answer)] = 1.0
            place = stop
            position = position + len(ids) if lesson.is_chat else end

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)


def picture_config(shape: VisionShape, image_token_id: int) -> PictureConfig:
    """The treatment of pictures: a square of the encoder's size, whatever their own shape is."""
    return PictureConfig(
        family="idefics3",
        patch_size=shape.patch_size,
        merge_size=shape.scale_factor,
        image_token_id=image_token_id,
        tile_size=shape.image_size,
        longest_edge=shape.image_size,
        splits=False,
        mean=(0.5, 0.5, 0.5),
        std=(0.5, 0.5, 0.5),
        rescale=1 / 255,
        resampling="lanczos",
    )


def picture_tokenizer(texts: Iterator[str], size: int) -> Tokenizer:
    """A tokenizer of `size` tokens for questions and answers about pictures."""
    return train_tokenizer(texts, size, SPECIAL_TOKENS)

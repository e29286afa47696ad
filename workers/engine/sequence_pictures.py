"""The pictures of one sequence, and the places of their embeddings in its prompt."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Ordered

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.block_hashes import digests_within, picture_spans
from cactus_actors.protocol.pictures import PreparedPicture
from cactus_actors.workers.engine.axis_positions import AxisPositions
from cactus_actors.workers.engine.whole_tiles import WholeTiles

Embeddings = NDArray[np.float32]
"""The embeddings of a picture, (tokens, hidden), with features beside them if the model has some."""

PictureKey = tuple[str, bytes]
"""The cache salt of a request and the digest of a picture: what one request may know of another's pictures."""


class SequencePictures:
    """The pictures of a sequence, encoded or not; pixels are kept until a picture is encoded.

    With `sees_whole_tiles`, the tokens of a tile attend to each other. `token_side` is the side in pixels of an
    embedding's square in models whose tokens have positions on several axes, which are `axes`; 0 in others. Raises
    ValueError unless `prompt_ids` has a placeholder for each embedding, in these models those of a tile side by side.
    """

    def __init__(
        self,
        pictures: Ordered[PreparedPicture],
        prompt_ids: Ordered[int],
        image_token_id: int,
        salt: str,
        *,
        sees_whole_tiles: bool = False,
        token_side: int = 0,
    ) -> None:
        self._spans = picture_spans(prompt_ids, image_token_id, pictures)
        self._places = np.flatnonzero(np.asarray(prompt_ids) == image_token_id)
        self._keys: list[PictureKey] = [(salt, picture.digest) for picture in pictures]
        self._unencoded = dict(zip(self._keys, pictures, strict=True))
        self._embeddings: dict[PictureKey, Embeddings] = {}
        counts = [tile.num_tokens for picture in pictures for tile in picture.tiles]
        self.whole_tiles = WholeTiles(self._places, counts) if sees_whole_tiles else None
        self.axes = AxisPositions(_grids(pictures, self._places, token_side)) if token_side else None

    @property
    def unencoded(self) -> dict[PictureKey, PreparedPicture]:
        """The pictures without embeddings, in the order of the prompt."""
        return self._unencoded

    def take(self, key: PictureKey, embeddings: Embeddings) -> None:
        """Take the embeddings of a picture; they are kept as long as the sequence."""
        if self._unencoded.pop(key, None) is not None:
            self._embeddings[key] = embeddings

    def digests_within(self, start: int, end: int) -> bytes:
        """The digests of the pictures that have tokens from `start` to before `end`, for the block's hash."""
        return digests_within(self._spans, start, end)

    def within(self, start: int, end: int) -> tuple[NDArray[np.intp], Embeddings] | None:
        """Indices of the placeholders from `start` to before `end`, and their embeddings; None without any."""
        low, high = (int(number) for number in np.searchsorted(self._places, (start, end)))
        if low == high:
            return None
        rows = []
        first = 0
        for key in self._keys:
            embeddings = self._embeddings[key]
            rows.append(embeddings[max(low - first, 0) : max(high - first, 0)])
            first += len(embeddings)
        return self._places[low:high], np.concatenate(rows)


def _grids(pictures: Ordered[PreparedPicture], places: NDArray[np.intp], side: int) -> Iterator[tuple[int, int, int]]:
    """Index of the first placeholder of each tile, and its rows and columns of embeddings."""
    first = 0
    for tile in (tile for picture in pictures for tile in picture.tiles):
        start, end = places[first], places[first + tile.num_tokens - 1] + 1
        if end - start != tile.num_tokens:
            raise ValueError("the placeholder tokens of a picture are not side by side")
        yield int(start), tile.height // side, tile.width // side
        first += tile.num_tokens

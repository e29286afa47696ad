"""The pictures of one sequence, and the places of their embeddings in its prompt."""

from __future__ import annotations

from collections.abc import Sequence as Ordered

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.block_hashes import digests_within, picture_spans
from cactus_actors.protocol.pictures import PreparedPicture
from cactus_actors.workers.engine.whole_tiles import WholeTiles

Embeddings = NDArray[np.float32]
"""The embeddings of a picture, (tokens, hidden)."""

PictureKey = tuple[str, bytes]
"""The cache salt of a request and the digest of a picture: what one request may know of another's pictures."""


class SequencePictures:
    """The pictures of a sequence, encoded or not; pixels are kept until a picture is encoded.

    With `sees_whole_tiles`, the tokens of a tile attend to each other. Raises ValueError unless `prompt_ids` has a
    placeholder for each embedding, and as `WholeTiles` does.
    """

    def __init__(
        self,
        pictures: Ordered[PreparedPicture],
        prompt_ids: Ordered[int],
        image_token_id: int,
        salt: str,
        *,
        sees_whole_tiles: bool = False,
    ) -> None:
        self._spans = picture_spans(prompt_ids, image_token_id, pictures)
        self._places = np.flatnonzero(np.asarray(prompt_ids) == image_token_id)
        self._keys: list[PictureKey] = [(salt, picture.digest) for picture in pictures]
        self._unencoded = dict(zip(self._keys, pictures, strict=True))
        self._embeddings: dict[PictureKey, Embeddings] = {}
        counts = [tile.num_tokens for picture in pictures for tile in picture.tiles]
        self.whole_tiles = WholeTiles(self._places, counts) if sees_whole_tiles else None

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

"""Encodes the pictures of sequences that wait for them, between the steps of running sequences.

A picture is encoded tile by tile, and a tile in pieces: a part of a layer, for some of the patches. While other
sequences run, pieces take as much time as their steps do, one piece at a time: a token is delayed by at most one piece.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cactus_actors.protocol.pictures import PreparedPicture
from cactus_actors.workers.engine.embedding_cache import EmbeddingCache
from cactus_actors.workers.engine.model import TileEncoder
from cactus_actors.workers.engine.scheduler import Counters
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.sequence_pictures import Embeddings, PictureKey

MAX_SECONDS = 0.1
"""Seconds of encoding in a step, until the piece in which they end; commands of the router wait as long."""


@dataclass(slots=True)
class EncodingPicture:
    """A picture that is being encoded, with the embeddings of its first tiles."""

    key: PictureKey
    picture: PreparedPicture
    tiles: list[Embeddings] = field(default_factory=list)
    has_begun_tile: bool = False


class PictureQueue:
    """Sequences whose pictures are not encoded yet, in order of arrival, and the cache of embeddings.

    A picture for which several sequences wait is encoded once.
    """

    def __init__(
        self,
        encoder: TileEncoder,
        max_cache_bytes: int,
        counters: Counters,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._encoder = encoder
        self._counters = counters
        self._clock = clock
        self._cache = EmbeddingCache(max_cache_bytes)
        self._waiting: list[Sequence] = []
        self._current: EncodingPicture | None = None
        self._seconds_left = 0.0

    @property
    def num_waiting(self) -> int:
        """Sequences with a picture that is not encoded."""
        return len(self._waiting)

    def add(self, sequence: Sequence) -> bool:
        """Take a new sequence; returns False if all its pictures are encoded, so that it need not wait."""
        assert sequence.pictures is not None, "others have nothing to wait for"
        for key in list(sequence.pictures.unencoded):
            if (embeddings := self._cache.get(key)) is not None:
                sequence.pictures.take(key, embeddings)
                self._counters.cached_pictures += 1
        if not sequence.pictures.unencoded:
            return False
        self._waiting.append(sequence)
        return True

    def remove(self, sequence: Sequence) -> bool:
        """Remove a sequence; returns False if it does not wait here. Others may still wait for its pictures."""
        if sequence not in self._waiting:
            return False
        self._waiting.remove(sequence)
        if self._current is not None and not self._waiting_for(self._current.key):
            self._current = None
        return True

    def on_step(self, seconds: float) -> None:
        """Record that a step of other sequences took `seconds`: encoding may take as long."""
        self._seconds_left = min(self._seconds_left, 0.0) + seconds

    def advance(self, *, is_alone: bool) -> list[Sequence]:
        """Encode for the seconds that are left, or for MAX_SECONDS if no other sequence runs.

        Returns immediately with the sequences whose pictures are complete, which wait no longer.
        """
        if is_alone:
            self._seconds_left = MAX_SECONDS
        ready: list[Sequence] = []
        self._seconds_left = min(self._seconds_left, MAX_SECONDS)
        while self._waiting and self._seconds_left > 0 and not ready:
            started = self._clock()
            ready = self._advance_picture()
            self._seconds_left -= self._clock() - started
        return ready

    def fail_current(self) -> list[Sequence]:
        """Give up the picture that is being encoded, after an error; returns the sequences that waited for it."""
        assert self._current is not None, "its encoding has failed"
        failed = self._waiting_for(self._current.key)
        self._current = None
        self._waiting = [sequence for sequence in self._waiting if sequence not in failed]
        return failed

    def _advance_picture(self) -> list[Sequence]:
        """Run a piece of the encoder; returns the sequences that are complete now."""
        current = self._current
        if current is None:
            pictures = self._waiting[0].pictures
            assert pictures is not None, "it waits for them"
            current = self._current = EncodingPicture(*next(iter(pictures.unencoded.items())))
        if not current.has_begun_tile:
            self._encoder.begin(current.picture.tiles[len(current.tiles)])
            current.has_begun_tile = True
        if not self._encoder.advance():
            return []
        current.tiles.append(self._encoder.embeddings())
        current.has_begun_tile = False
        if len(current.tiles) < len(current.picture.tiles):
            return []
        return self._complete(current)

    def _complete(self, current: EncodingPicture) -> list[Sequence]:
        embeddings = np.concatenate(current.tiles)
        self._current = None
        self._cache.put(current.key, embeddings)
        self._counters.encoded_pictures += 1
        ready = []
        for sequence in self._waiting_for(current.key):
            assert sequence.pictures is not None, "it waits for them"
            sequence.pictures.take(current.key, embeddings)
            if not sequence.pictures.unencoded:
                ready.append(sequence)
        self._waiting = [sequence for sequence in self._waiting if sequence not in ready]
        return ready

    def _waiting_for(self, key: PictureKey) -> list[Sequence]:
        return [each for each in self._waiting if each.pictures is not None and key in each.pictures.unencoded]

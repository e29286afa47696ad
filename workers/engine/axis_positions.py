"""The positions of a sequence's tokens on three axes: time, rows and columns (M-RoPE; Qwen3-VL, Bai et al. 2025)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

NUM_AXES = 3


class AxisPositions:
    """The positions of a sequence with pictures.

    A token of text has the same position on all axes, one after that of the token before it. The tokens of a picture
    have one time, and its rows and columns are counted from there; the text goes on after the larger of both.
    """

    def __init__(self, grids: Iterable[tuple[int, int, int]]) -> None:
        """`grids` are the pictures in order: index of the first token, and numbers of rows and columns."""
        parts: list[NDArray[np.int32]] = []
        end, self._shift = 0, 0  # the index after the last picture, and what positions of text lack to indices
        for first, rows, columns in grids:
            start = first - self._shift
            parts.append(text_positions(end - self._shift, start))
            down, across = np.divmod(np.arange(rows * columns), columns)
            parts.append(start + np.stack([np.zeros_like(down), down, across], axis=1).astype(np.int32))
            end = first + rows * columns
            self._shift += rows * columns - max(rows, columns)
        self._known = np.concatenate(parts)

    def within(self, start: int, end: int) -> NDArray[np.int32]:
        """The positions of the tokens from index `start` to before `end`, (tokens, axes)."""
        num_known = len(self._known)
        if start >= num_known:
            return text_positions(start - self._shift, end - self._shift)
        if end <= num_known:
            return self._known[start:end]
        return np.concatenate([self._known[start:], text_positions(num_known - self._shift, end - self._shift)])


def text_positions(start: int, end: int) -> NDArray[np.int32]:
    """Positions from `start` to before `end`, the same on all axes, (tokens, axes)."""
    return np.repeat(np.arange(start, end, dtype=np.int32)[:, None], NUM_AXES, axis=1)

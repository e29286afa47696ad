"""Packing of samples into rows of equal length; attention stays within each sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of whole samples.

    tokens (rows, length) ids; documents (rows, length) the index of each token's sample in its row;
    weights (rows, length) the loss weight of predicting the token AFTER this one, 0 at a sample's end.
    """

    tokens: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]


def pack(
    samples: Iterator[tuple[list[int], list[bool]]],
    num_rows: int,
    length: int,
    prompt_weight: float,
) -> Rows:
    """Fill rows first-fit; a sample longer than a row is left out."""
    tokens = np.zeros((num_rows, length), np.int64)
    documents = np.full((num_rows, length), -1, np.int32)
    weights = np.zeros((num_rows, length), np.float32)
    used = [0] * num_rows
    num_documents = [0] * num_rows
    open_rows = list(range(num_rows))
    while open_rows:
        ids, is_answer = next(samples)
        if len(ids) > length:
            continue
        row = next((row for row in open_rows[:16] if used[row] + len(ids) <= length), None)
        if row is None:
            open_rows.pop(0)
            continue
        start, end = used[row], used[row] + len(ids)
        tokens[row, start:end] = ids
        documents[row, start:end] = num_documents[row]
        weights[row, start : end - 1] = np.where(is_answer[1:], 1.0, prompt_weight)
        used[row] = end
        num_documents[row] += 1
        if length - end < 8:
            open_rows.remove(row)
    return Rows(tokens, documents, weights)


def batches(rows: Rows, num_rows: int) -> Iterable[Rows]:
    """Cut rows into batches of num_rows."""
    for start in range(0, len(rows.tokens) - num_rows + 1, num_rows):
        chosen = slice(start, start + num_rows)
        yield Rows(rows.tokens[chosen], rows.documents[chosen], rows.weights[chosen])

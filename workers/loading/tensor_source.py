"""The weights of a model as a lazy mapping over its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Read = Callable[[], NDArray[np.float32]]
ReadRows = Callable[[int, int], NDArray[np.float32]]
"""(first, last) -> the rows from `first` to before `last`."""


class StoredTensor(NamedTuple):
    """The file of a tensor, its name and shape there, and the functions that read it, whole or some rows."""

    path: Path
    name: str
    shape: tuple[int, ...]
    read: Read
    read_rows: ReadRows | None = None  # where rows can be read without the others


@dataclass(frozen=True, eq=False)
class TensorSource(Mapping[str, NDArray[np.float32]]):
    """Canonical name -> float32 array; each look-up reads that one tensor from the file again.

    The names and shapes are those of `Graph.tensor_shapes`; matrices are (outputs, inputs). The arrays are
    C-contiguous and may be read-only views of the mapped file: copy arrays that are kept or changed.
    """

    stored: Mapping[str, StoredTensor]

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        return self.stored[name].read()

    def rows(self, name: str, first: int, last: int) -> NDArray[np.float32]:
        """Rows of a matrix; the others are not read if the file allows it."""
        read_rows = self.stored[name].read_rows
        return self[name][first:last] if read_rows is None else read_rows(first, last)

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

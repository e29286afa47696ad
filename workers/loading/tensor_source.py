"""The weights of a model as a lazy mapping over its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Read = Callable[[], NDArray[np.float32]]


class StoredTensor(NamedTuple):
    """The file of a tensor, its name and shape there, and the function that reads it."""

    path: Path
    name: str
    shape: tuple[int, ...]
    read: Read


@dataclass(frozen=True, eq=False)
class TensorSource(Mapping[str, NDArray[np.float32]]):
    """Canonical name -> float32 array; each look-up reads that one tensor from the file again.

    The names and shapes are those of `Graph.tensor_shapes`; matrices are (outputs, inputs). The arrays are
    C-contiguous and may be read-only views of the mapped file: copy arrays that are kept or changed.
    """

    stored: Mapping[str, StoredTensor]

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        return self.stored[name].read()

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

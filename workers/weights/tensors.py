"""The weights of a model as a lazy mapping, whatever file they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Read = Callable[[], NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class TensorSource(Mapping[str, NDArray[np.float32]]):
    """Canonical name -> float32 array; each look-up reads that one tensor from the file again.

    The names and shapes are those of `Graph.tensor_shapes`; matrices are (outputs, inputs). The arrays
    are C-contiguous and may be read-only views of the mapped file: copy what is kept or changed.
    """

    readers: Mapping[str, Read]

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        return self.readers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.readers)

    def __len__(self) -> int:
        return len(self.readers)

"""Copies of GGUF files with other tensors and metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.gguf_file import open_gguf

Tensor = tuple[str, NDArray[np.float32]]
Change = Callable[[str, NDArray[np.float32]], Iterator[Tensor]]


def unchanged(name: str, tensor: NDArray[np.float32]) -> Iterator[Tensor]:
    yield name, tensor


def rewritten(path: Path, change: Change = unchanged, **metadata: Any) -> Path:
    """A copy of a GGUF file with other tensors and some other metadata; None leaves a key out."""
    file = open_gguf(path)
    architecture = str(file.metadata["general.architecture"])
    writer = gguf.GGUFWriter(path.with_suffix(".changed"), architecture)
    given = {key.replace("__", "."): value for key, value in metadata.items()}
    for key, value in {**file.metadata, **{f"{architecture}.{key}": value for key, value in given.items()}}.items():
        if key.startswith(f"{architecture}.") and value is not None:
            if isinstance(value, np.ndarray | list):
                writer.add_array(key, np.asarray(value).tolist())
            else:
                (writer.add_uint32 if isinstance(value, int) else writer.add_float32)(key, value)
    for name in file.tensors:
        for changed, tensor in change(name, file.read_tensor(name)):
            writer.add_tensor(changed, np.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.with_suffix(".changed")

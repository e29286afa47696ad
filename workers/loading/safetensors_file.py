"""Safetensors files: float32, float16 and bfloat16 tensors as float32 arrays, bytes of MXFP4 as they are."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from operator import eq
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from cactus_actors.models.checked_files import invalid, parse_json_object

MAX_HEADER_BYTES = 100_000_000
CHUNK_BYTES = 1 << 20
_FLOATS = ("F32", "F16", "BF16")
_ITEMS: Mapping[str, np.dtype[Any]] = {
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(np.uint16),  # the upper half of a float32
    "U8": np.dtype(np.uint8),
}
_OF_BYTES = ("_blocks", "_scales")
"""Ends of the names of the two tensors of a matrix in MXFP4."""


class SafetensorsEntry(NamedTuple):
    """Type, shape and position of a tensor: `offset` in bytes from the start of the file."""

    dtype: str
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class SafetensorsFile:
    """An open safetensors file; tensors are read on demand."""

    path: Path
    tensors: Mapping[str, SafetensorsEntry]
    content: mmap.mmap

    def read_tensor(self, name: str) -> NDArray[np.float32]:
        """The tensor `name` as float32; a view of the mapped file if it is stored as float32."""
        return self.read_entry(self.tensors[name])

    def read_entry(self, info: SafetensorsEntry) -> NDArray[np.float32]:
        """A tensor, or a part of one, by its place in the file, as float32."""
        return widened(self.read_items(info))

    def read_items(self, info: SafetensorsEntry) -> NDArray[Any]:
        """The values as they are stored, a view of the mapped file; those of bfloat16 as uint16."""
        stored = np.frombuffer(self.content, dtype=np.uint8, count=num_bytes(info), offset=info.offset)
        return np.require(stored.view(_ITEMS[info.dtype]), requirements="A").reshape(info.shape)


def num_bytes(info: SafetensorsEntry) -> int:
    """The size of a tensor in its file."""
    return prod(info.shape) * _ITEMS[info.dtype].itemsize


def widened(items: NDArray[Any]) -> NDArray[np.float32]:
    """Stored numbers as float32; float32 itself is not copied."""
    if items.dtype == np.uint16:
        return (items.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return items.astype(np.float32, copy=False)


class SafetensorsTensor(NamedTuple):
    """One tensor of an open file, by its name there; or a part of it, if it has a place of its own."""

    file: SafetensorsFile
    name: str
    part: SafetensorsEntry | None = None

    @property
    def entry(self) -> SafetensorsEntry:
        """Type, shape and position."""
        return self.file.tensors[self.name] if self.part is None else self.part

    @property
    def shape(self) -> tuple[int, ...]:
        return self.entry.shape

    def read(self) -> NDArray[np.float32]:
        """Its values, as `SafetensorsFile.read_tensor` gives them."""
        return self.file.read_entry(self.entry)

    def read_items(self) -> NDArray[Any]:
        """Its values as they are stored."""
        return self.file.read_items(self.entry)

    def read_rows(self, first: int, last: int) -> NDArray[np.float32]:
        """Its values from row `first` to before row `last`."""
        dtype, shape, offset = self.entry
        before = num_bytes(SafetensorsEntry(dtype, (first, *shape[1:]), offset))
        return self.file.read_entry(SafetensorsEntry(dtype, (last - first, *shape[1:]), offset + before))

    def rows(self) -> list[SafetensorsTensor]:
        """Its parts along the first axis, without that axis."""
        parts = self.split(self.shape[0])
        return [self._replace(part=part.entry._replace(shape=self.shape[1:])) for part in parts]

    def split(self, num_parts: int) -> list[SafetensorsTensor]:
        """`num_parts` equal parts along the first axis; the tensor itself if they would not be equal."""
        dtype, shape, offset = self.entry
        if not shape or shape[0] % max(num_parts, 1):
            return [self] * num_parts
        part_shape = (shape[0] // max(num_parts, 1), *shape[1:])
        first = SafetensorsEntry(dtype, part_shape, offset)
        size = num_bytes(first)
        return [self._replace(part=first._replace(offset=offset + index * size)) for index in range(num_parts)]

    def is_copy_of(self, other: SafetensorsTensor) -> bool:
        """True if the other tensor has the same type, shape and bytes."""
        ours, theirs = self.entry, other.entry
        if ours._replace(offset=theirs.offset) != theirs:
            return False
        return all(map(eq, self._chunks(), other._chunks()))

    def _chunks(self) -> Iterator[bytes]:
        info = self.entry
        end = info.offset + num_bytes(info)
        for start in range(info.offset, end, CHUNK_BYTES):
            yield self.file.content[start : min(start + CHUNK_BYTES, end)]


def open_safetensors(path: Path) -> SafetensorsFile:
    """Open a file and check its header; raises ModelFileInvalid, which names the file and the error.

    The package checks that the tensors fill the file without holes or overlaps; it has no bfloat16 arrays of
    NumPy, so the offsets are read here again.
    """
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise invalid(path, f"cannot be read: {error}") from error
    header_end = 8 + int.from_bytes(content[:8], "little")
    if header_end > min(len(content), 8 + MAX_HEADER_BYTES):
        raise invalid(path, f"a header of {header_end - 8} bytes in a file of {len(content)} bytes")
    if content[8:9] != b"{":  # the format pads headers at their end only
        raise invalid(path, "offset 8: a header begins with {")
    header = parse_json_object(path, content[8:header_end])
    try:
        with safe_open(path, framework="numpy"):
            pass
    except (SafetensorError, OSError) as error:
        raise invalid(path, f"not a valid safetensors file: {error}") from error
    header.pop("__metadata__", None)
    tensors = {name: _tensor_info(path, name, entry, header_end) for name, entry in header.items()}
    for name, info in tensors.items():
        if info.offset + num_bytes(info) > len(content):
            raise invalid(path, f"tensor {name!r} ends after the file")
    return SafetensorsFile(path, tensors, content)


def _tensor_info(path: Path, name: str, entry: dict[str, Any], header_end: int) -> SafetensorsEntry:
    readable = (*_FLOATS, "U8") if name.endswith(_OF_BYTES) else _FLOATS
    if entry["dtype"] not in readable:
        supported = ", ".join(readable)
        raise invalid(path, f"tensor {name!r} has the type {entry['dtype']}; supported: {supported}")
    return SafetensorsEntry(entry["dtype"], tuple(entry["shape"]), header_end + entry["data_offsets"][0])

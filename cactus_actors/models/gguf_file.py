"""A guarded reader of GGUF files.

The `gguf` package's own reader trusts the file: a length in a header can make it allocate or index anything. So
this module reads the header, and compares every length and offset with the remaining bytes before use; the package
supplies the tensor types and their block sizes.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import gguf
import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.dequantize import READABLE_TYPES, dequantize
from cactus_actors.protocol.errors import ModelFileInvalid

Value: TypeAlias = int | float | bool | str | list[str] | NDArray[Any]

MAX_DIMENSIONS = 4
MAX_ALIGNMENT = 1 << 16
MAX_KEY_BYTES = 1 << 16
SMALLEST_ENTRY_BYTES = 8 + 4 + 1  # an empty key, a type, a one-byte value
SMALLEST_TENSOR_INFO_BYTES = 8 + 4 + 8 + 4 + 8  # an empty name, one dimension, type, offset

_STRING = 8
_ARRAY = 9
_SCALARS: Mapping[int, np.dtype[Any]] = {
    0: np.dtype("<u1"),
    1: np.dtype("<i1"),
    2: np.dtype("<u2"),
    3: np.dtype("<i2"),
    4: np.dtype("<u4"),
    5: np.dtype("<i4"),
    6: np.dtype("<f4"),
    7: np.dtype("?"),
    10: np.dtype("<u8"),
    11: np.dtype("<i8"),
    12: np.dtype("<f8"),
}
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class GGUFTensorInfo(NamedTuple):
    """A tensor in the file: `shape` in NumPy order (rows first), `offset` from the start of the file."""

    type: gguf.GGMLQuantizationType
    shape: tuple[int, ...]
    offset: int
    num_bytes: int


@dataclass(frozen=True)
class GGUFFile:
    """An open GGUF file; the tensors stay on disk until they are read."""

    path: Path
    metadata: Mapping[str, Value]
    tensors: Mapping[str, GGUFTensorInfo]
    content: mmap.mmap

    def read_tensor(self, name: str) -> NDArray[np.float32]:
        """The tensor `name`, dequantised to float32 in its NumPy shape (see `dequantize`)."""
        info = self.tensors[name]
        stored = np.frombuffer(self.content, dtype=np.uint8, count=info.num_bytes, offset=info.offset)
        return dequantize(stored, info.type, info.shape)

    def read_entry(self, name: str, index: int) -> NDArray[np.float32]:
        """`read_tensor(name)[index]`, without reading the rest: one expert of a stack."""
        rows = self.read_rows(name, index, index + 1)
        return rows.reshape(rows.shape[1:])

    def read_rows(self, name: str, first: int, last: int) -> NDArray[np.float32]:
        """`read_tensor(name)[first:last]`, without reading the rest."""
        info = self.tensors[name]
        num_bytes = info.num_bytes // info.shape[0]
        stored = np.frombuffer(
            self.content, dtype=np.uint8, count=(last - first) * num_bytes, offset=info.offset + first * num_bytes
        )
        return dequantize(stored, info.type, (last - first, *info.shape[1:]))


def open_gguf(path: Path) -> GGUFFile:
    """Opens a GGUF file of version 2 or 3 and checks its whole header.

    Every fault of the file raises ModelFileInvalid, which names the fault and its offset.
    """
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise invalid(path, f"cannot be read: {error}") from error
    return _Header(path, content).read()


class _Header:
    """One walk over the header; `position` never passes the end of the file."""

    def __init__(self, path: Path, content: mmap.mmap) -> None:
        self.path = path
        self.content = content
        self.position = 0

    @property
    def remaining(self) -> int:
        return len(self.content) - self.position

    def read(self) -> GGUFFile:
        if self.take(4, "magic") != b"GGUF":
            raise self.error("not a GGUF file", at=0)
        self.check_version(self.u32("version"))
        num_tensors = self.count("tensor count", SMALLEST_TENSOR_INFO_BYTES)
        num_entries = self.count("metadata count", SMALLEST_ENTRY_BYTES)
        metadata = self.read_metadata(num_entries)
        infos = [self.read_tensor_info() for _ in range(num_tensors)]
        alignment = self.check_alignment(metadata.get("general.alignment", 32))
        data_start = -(-self.position // alignment) * alignment
        tensors: dict[str, GGUFTensorInfo] = {}
        for name, info in infos:
            if name in tensors:
                raise self.error(f"two tensors have the name {name!r}")
            tensors[name] = self.placed(name, info, data_start, alignment)
        self.check_overlaps(tensors)
        return GGUFFile(self.path, metadata, tensors, self.content)

    def read_metadata(self, num_entries: int) -> dict[str, Value]:
        metadata: dict[str, Value] = {}
        for _ in range(num_entries):
            key = self.string("a metadata key", MAX_KEY_BYTES)
            if key in metadata:
                raise self.error(f"the metadata key {key!r} appears twice")
            metadata[key] = self.value(self.u32(f"the type of {key!r}"), key)
        return metadata

    def value(self, kind: int, key: str) -> Value:
        if kind == _STRING:
            return self.string(f"the value of {key!r}")
        if kind == _ARRAY:
            return self.array(key)
        if kind not in _SCALARS:
            raise self.error(f"{key!r} has the unknown value type {kind}")
        dtype = _SCALARS[kind]
        stored = self.take(dtype.itemsize, f"the value of {key!r}")
        value: int | float | bool = np.frombuffer(stored, dtype=dtype)[0].item()
        return value

    def array(self, key: str) -> list[str] | NDArray[Any]:
        kind = self.u32(f"the element type of {key!r}")
        if kind == _STRING:
            length = self.count(f"the length of {key!r}", 8)
            return [self.string(f"an element of {key!r}") for _ in range(length)]
        if kind == _ARRAY:
            raise self.error(f"{key!r} is an array of arrays, which is not supported")
        if kind not in _SCALARS:
            raise self.error(f"{key!r} has the unknown element type {kind}")
        dtype = _SCALARS[kind]
        length = self.count(f"the length of {key!r}", dtype.itemsize)
        stored = self.take(length * dtype.itemsize, f"the elements of {key!r}")
        return np.frombuffer(stored, dtype=dtype)

    def read_tensor_info(self) -> tuple[str, GGUFTensorInfo]:
        """A tensor's entry, its offset still counted from the start of the tensor data."""
        name = self.string("a tensor name", MAX_KEY_BYTES)
        num_dimensions = self.u32(f"the dimension count of {name!r}")
        if not 1 <= num_dimensions <= MAX_DIMENSIONS:
            raise self.error(f"tensor {name!r} has {num_dimensions} dimensions (1 to {MAX_DIMENSIONS} allowed)")
        shape = tuple(self.u64(f"a dimension of {name!r}") for _ in range(num_dimensions))[::-1]
        kind = self.u32(f"the type of {name!r}")
        offset = self.u64(f"the offset of {name!r}")
        try:
            tensor_type = gguf.GGMLQuantizationType(kind)
        except ValueError as error:
            raise self.error(f"tensor {name!r} has the unknown type {kind}") from error
        if tensor_type not in READABLE_TYPES:
            readable = ", ".join(readable.name for readable in READABLE_TYPES)
            raise self.error(f"tensor {name!r} has the type {tensor_type.name}; supported: {readable}")
        block_size, block_bytes = gguf.GGML_QUANT_SIZES[tensor_type]
        if min(shape) < 1:
            raise self.error(f"tensor {name!r} has an empty dimension: {list(shape)}")
        if shape[-1] % block_size:
            raise self.error(
                f"rows of {name!r} have {shape[-1]} elements, not a multiple of {block_size}"
                f" as {tensor_type.name} needs"
            )
        return name, GGUFTensorInfo(tensor_type, shape, offset, prod(shape) // block_size * block_bytes)

    def placed(self, name: str, info: GGUFTensorInfo, data_start: int, alignment: int) -> GGUFTensorInfo:
        if info.offset % alignment:
            raise self.error(f"the offset of tensor {name!r} is not a multiple of {alignment}")
        if data_start + info.offset + info.num_bytes > len(self.content):
            raise self.error(
                f"tensor {name!r} needs {info.num_bytes} bytes at offset {data_start + info.offset},"
                f" the file ends at {len(self.content)}"
            )
        return info._replace(offset=data_start + info.offset)

    def check_overlaps(self, tensors: Mapping[str, GGUFTensorInfo]) -> None:
        in_order = sorted(tensors.items(), key=lambda item: item[1].offset)
        for (name, info), (next_name, next_info) in pairwise(in_order):
            if info.offset + info.num_bytes > next_info.offset:
                raise self.error(f"the tensors {name!r} and {next_name!r} overlap")

    def check_version(self, version: int) -> None:
        if version in (2, 3):
            return
        if version and version & 0xFFFF == 0:
            raise self.error("a big-endian GGUF file, which is not supported", at=4)
        raise self.error(f"GGUF version {version}; versions 2 and 3 are supported", at=4)

    def check_alignment(self, alignment: Value) -> int:
        if (
            isinstance(alignment, int)
            and not isinstance(alignment, bool)
            and 8 <= alignment <= MAX_ALIGNMENT
            and alignment.bit_count() == 1
        ):
            return alignment
        raise self.error(f"general.alignment is {alignment}, not a power of two from 8 to {MAX_ALIGNMENT}")

    def take(self, size: int, what: str) -> bytes:
        if size > self.remaining:
            raise self.error(f"{what} needs {size} bytes, {self.remaining} are left")
        self.position += size
        return self.content[self.position - size : self.position]

    def u32(self, what: str) -> int:
        return int(_U32.unpack(self.take(4, what))[0])

    def u64(self, what: str) -> int:
        return int(_U64.unpack(self.take(8, what))[0])

    def count(self, what: str, smallest_bytes: int) -> int:
        """A number of items that each take at least `smallest_bytes` of the file."""
        count = self.u64(what)
        if count * smallest_bytes > self.remaining:
            raise self.error(f"{what} is {count}, more than the file has room for")
        return count

    def string(self, what: str, max_bytes: int | None = None) -> str:
        length = self.u64(f"the length of {what}")
        if max_bytes is not None and length > max_bytes:
            raise self.error(f"{what} has {length} bytes ({max_bytes} allowed)")
        stored = self.take(length, what)
        try:
            return stored.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error(f"{what} is not valid UTF-8") from error

    def error(self, what: str, *, at: int | None = None) -> ModelFileInvalid:
        return invalid(self.path, f"{what} (at byte {self.position if at is None else at})")

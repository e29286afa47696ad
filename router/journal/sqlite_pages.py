"""Reads rows from the pages of an SQLite file and its write-ahead log, without SQLite.

SQLite stops at the first wrong page. Here every readable page is used, in each of its versions. The format is that
of https://www.sqlite.org/fileformat2.html; only tables WITHOUT ROWID are read.
"""

from __future__ import annotations

import struct
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

Value = int | float | bytes | None
Buffer = bytes | memoryview

_HEADER_BYTES = 100
_LOG_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_INTERIOR, _LEAF = 2, 10
_INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)
_REAL, _ZERO, _ONE = 7, 8, 9
_NEWEST = 1 << 62


class _Broken(Exception):
    """These bytes are not of the expected structure."""


class Pages:
    """The pages of a database file and of the frames of its log, those after a damaged one too."""

    def __init__(self, database: Buffer, log: Buffer) -> None:
        self._database = memoryview(database)
        self._log = memoryview(log)
        self._size, reserved = _page_size(self._database, self._log)
        self._usable = self._size - reserved
        self._frames: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        """The positions and offsets of the versions of each page in the log, oldest first."""
        self._ends = self._read_log()

    @cached_property
    def num_readable(self) -> int:
        """The frames that SQLite reads: up to the last commit before the first wrong checksum."""
        if not self._size or len(self._log) < _LOG_HEADER_BYTES:
            return 0
        order, num_readable = ">II" if self._log[3] & 1 else "<II", 0
        sums = _summed(order, self._log[:24], (0, 0))
        if sums != struct.unpack_from(">II", self._log, 24):
            return 0
        for position in range(1, len(self._ends)):
            start = _LOG_HEADER_BYTES + (position - 1) * (_FRAME_HEADER_BYTES + self._size)
            header, page = self._log[start : start + _FRAME_HEADER_BYTES], start + _FRAME_HEADER_BYTES
            sums = _summed(order, self._log[page : page + self._size], _summed(order, header[:8], sums))
            if header[8:16] != self._log[16:24] or sums != struct.unpack_from(">II", header, 16):
                break
            if any(header[4:8]):
                num_readable = position
        return num_readable

    def rows(
        self, *, committed_only: bool = False, readable_only: bool = False, max_bytes: int = sys.maxsize
    ) -> Iterator[tuple[Value, ...]]:
        """Every row of every version of a page, with the overflow pages of every possible position.

        Optionally only of the frames of the log with a commit after them, or only of those that SQLite reads. Rows of
        more than `max_bytes` are left out.
        """
        if not self._size:
            return
        for number in range(1, len(self._database) // self._size + 1):
            yield from self._rows_of(number, self._stored(number), 0, max_bytes)
        last = self.num_readable if readable_only else _NEWEST - committed_only
        for number, versions in self._frames.items():
            for position, offset in versions:
                if self._ends[position] > last:
                    continue
                page = self._log[offset : offset + self._size]
                yield from self._rows_of(number, page, self._ends[position], max_bytes)

    def _read_log(self) -> list[int]:
        """Read the log's frames; returns, by a frame's position, the position where its transaction ends.

        Position 0 is the file itself. A frame of an earlier use of the log has another salt.
        """
        step = _FRAME_HEADER_BYTES + self._size
        salt = self._log[16:24]
        if not self._size:
            return []
        commits = [0]
        for position, start in enumerate(range(_LOG_HEADER_BYTES, len(self._log) - step + 1, step), 1):
            number, num_pages = struct.unpack_from(">II", self._log, start)
            is_ours = self._log[start + 8 : start + 16] == salt
            if is_ours:
                self._frames[number].append((position, start + _FRAME_HEADER_BYTES))
            commits.append(position if is_ours and num_pages else _NEWEST)
        return list(accumulate(reversed(commits), min))[::-1]

    def _stored(self, number: int) -> memoryview:
        return self._database[(number - 1) * self._size : number * self._size]

    def _page(self, number: int, latest: int) -> memoryview:
        """A page as it was at a position."""
        for position, offset in reversed(self._frames.get(number, [])):
            if position <= latest:
                return self._log[offset : offset + self._size]
        page = self._stored(number) if number else self._database[:0]
        if len(page) < self._size:
            raise _Broken
        return page

    def _rows_of(self, number: int, page: memoryview, latest: int, max_bytes: int) -> Iterator[tuple[Value, ...]]:
        start = _HEADER_BYTES if number == 1 else 0
        kind, num_cells = page[start], int.from_bytes(page[start + 3 : start + 5])
        if kind not in (_INTERIOR, _LEAF):
            return
        pointers = start + (12 if kind == _INTERIOR else 8)
        for at in range(pointers, min(pointers + 2 * num_cells, self._size - 1), 2):
            cell = int.from_bytes(page[at : at + 2]) + (4 if kind == _INTERIOR else 0)
            seen = None
            for position in (latest, _NEWEST):
                try:
                    payload = self._payload(page, cell, position, max_bytes)
                    if payload != seen:
                        yield _columns(payload)
                    seen = payload
                except (_Broken, IndexError, struct.error):
                    continue

    def _payload(self, page: memoryview, cell: int, latest: int, max_bytes: int) -> bytes:
        """The content of a cell, including its overflow pages."""
        size, at = _varint(page, cell)
        if size > max_bytes:
            raise _Broken
        highest = (self._usable - 12) * 64 // 255 - 23
        least = (self._usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (self._usable - 4)
        local = size if size <= highest else local if local <= highest else least
        content = bytearray(page[at : at + local])
        following = int.from_bytes(page[at + local : at + local + 4]) if local < size else 0
        while len(content) < size:
            overflow = self._page(following, latest)
            following = int.from_bytes(overflow[:4])
            content += overflow[4 : min(self._usable, 4 + size - len(content))]
        return bytes(content)


def _page_size(database: memoryview, log: memoryview) -> tuple[int, int]:
    """The bytes of a page, and the number of unused ones at its end; 0 if unknown."""
    sizes = []
    if bytes(database[:16]) == b"SQLite format 3\0" and len(database) >= _HEADER_BYTES:
        size = int.from_bytes(database[16:18])
        sizes.append((65536 if size == 1 else size, database[20]))
    if len(log) >= _LOG_HEADER_BYTES:
        sizes.append((int.from_bytes(log[8:12]), 0))
    for size, reserved in sizes:
        if 512 <= size <= 65536 and not size & (size - 1) and size - reserved >= 480:
            return size, reserved
    return 0, 0


def _summed(order: str, content: memoryview, sums: tuple[int, int]) -> tuple[int, int]:
    """The checksums of SQLite's log after more of its content."""
    one, two = sums
    for first, second in struct.iter_unpack(order, content):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two


def _columns(payload: bytes) -> tuple[Value, ...]:
    header_bytes, at = _varint(payload, 0)
    kinds = []
    while at < header_bytes:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values: list[Value] = []
    for kind in kinds:
        value, at = _value(payload, at, kind)
        values.append(value)
    return tuple(values)


def _value(payload: bytes, at: int, kind: int) -> tuple[Value, int]:
    """A column's value and the offset of the next one; texts are bytes too."""
    if kind < len(_INTEGER_BYTES):
        end = at + _INTEGER_BYTES[kind]
        value: Value = int.from_bytes(payload[at:end], signed=True) if kind else None
    elif kind == _REAL:
        end = at + 8
        (value,) = struct.unpack_from(">d", payload, at)
    elif kind in (_ZERO, _ONE):
        end, value = at, kind - _ZERO
    elif kind >= 12:
        end = at + (kind - 12) // 2
        value = payload[at:end]
    else:
        raise _Broken
    if end > len(payload):
        raise _Broken
    return value, end


def _varint(buffer: Buffer, at: int) -> tuple[int, int]:
    """SQLite's integer of 1 to 9 bytes, and the offset of its end."""
    value = 0
    for index in range(8):
        byte = buffer[at + index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + index + 1
    return value << 8 | buffer[at + 8], at + 9

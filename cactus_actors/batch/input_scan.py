"""The two passes over a prompt file: the scan of all its lines, then the lines of it that are not done yet."""

from __future__ import annotations

import asyncio
import zlib
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from cactus_actors.batch.batch_errors import InputChanged, InputInvalid
from cactus_actors.batch.custom_id_set import CustomIdSet, custom_id_hash
from cactus_actors.batch.line_source import LineReader
from cactus_actors.batch.prompt_file import Format, PromptFile, RawLine
from cactus_actors.batch.prompt_lines import PromptLine, decode_line

LINES_A_STEP = 2000


@dataclass(frozen=True, kw_only=True)
class InputScan:
    """`model` is the first model named in a line; `checks` has a checksum for each line that is not blank."""

    sha256: str
    stamp: tuple[int, ...]
    model: str | None
    checks: array[int] = field(repr=False)

    @property
    def num_lines(self) -> int:
        """Number of lines that are not blank."""
        return len(self.checks)


class InputScanner:
    """Scans a file in steps: its digest, and the check for repeated custom_ids."""

    def __init__(self, file: LineReader, form: Format) -> None:
        self._file = file
        self._form = form
        self._lines = file.lines()
        self._keys = CustomIdSet()
        self._checks = array("I")
        self._model: str | None = None

    def step(self) -> bool:
        """Scan the next lines, False at the end. Raises InputInvalid, naming both lines of a repeated custom_id."""
        num_before = len(self._checks)
        for raw in islice(self._lines, LINES_A_STEP):
            try:
                line = decode_line(raw, self._form)
            except InputInvalid as error:
                raise InputInvalid(f"{self._file.name}: {error.message}") from None
            if not self._keys.add(custom_id_hash(line.custom_id)):
                raise self._used_twice(line)
            self._checks.append(check_value(raw))
            self._model = self._model or line.model
        return len(self._checks) > num_before

    def scanned(self) -> InputScan:
        """The result, after `step` has reached the end."""
        return InputScan(sha256=self._file.digest, stamp=self._file.stamp, model=self._model, checks=self._checks)

    def _used_twice(self, line: PromptLine) -> InputInvalid:
        key = custom_id_hash(line.custom_id)
        with self._file.reopened() as file:
            lines = (decode_line(raw, self._form) for raw in file.lines())
            earlier = next((one.number for one in lines if custom_id_hash(one.custom_id) == key), line.number)
        return InputInvalid(
            f"{self._file.name}: custom_id {line.custom_id[:60]!r} is on line {earlier} and on line {line.number}"
        )


async def scan(file: LineReader, form: Format) -> InputScan:
    """Scan `file` without blocking the event loop; raises InputInvalid."""
    scanner = InputScanner(file, form)
    while await asyncio.to_thread(scanner.step):
        pass
    return scanner.scanned()


class PendingLines:
    """Returns the lines of `file` that are not done, in order, to any number of tasks.

    The file is read again, and may have changed: lines that differ from the scan are never returned.
    """

    def __init__(
        self, file: LineReader, form: Format, scanned: InputScan, is_done: Callable[[str], bool], max_ahead_bytes: int
    ) -> None:
        self._file = file
        self._form = form
        self._scanned = scanned
        self._is_done = is_done
        self._max_ahead_bytes = max_ahead_bytes
        self._steps = self._read()
        self._ready: deque[PromptLine] = deque()
        self._reading = asyncio.Lock()

    async def next(self) -> PromptLine | None:
        """The next line, None after the last; raises InputChanged and InputInvalid."""
        if self._ready:
            return self._ready.popleft()
        async with self._reading:
            while not self._ready:
                lines = await asyncio.to_thread(next, self._steps, None)
                if lines is None:
                    return None
                self._ready.extend(lines)
            return self._ready.popleft()

    def _read(self) -> Iterator[list[PromptLine]]:
        """Yield small groups of lines, empty ones where all are done."""
        lines: list[PromptLine] = []
        num_bytes = 0
        for num_before, raw in enumerate(self._file.lines()):
            if num_before == self._scanned.num_lines or check_value(raw) != self._scanned.checks[num_before]:
                raise changed(self._file.name, f"line {raw.number} is")
            num_bytes += len(raw.content or b"")
            line = decode_line(raw, self._form)
            if not self._is_done(line.custom_id):
                lines.append(line)
            if num_bytes > self._max_ahead_bytes or num_before % LINES_A_STEP == 0:
                yield lines
                lines, num_bytes = [], 0
        yield lines
        if self._file.digest != self._scanned.sha256:
            raise changed(self._file.name, "its end is")


def changed(name: str, what: str) -> InputChanged:
    """The error for an input that has changed during the run."""
    return InputChanged(
        f"{name}: input_changed: {what} not what it was when the run began; "
        "restore it and continue with --resume, or start again with --overwrite"
    )


def check_unchanged(path: Path, scanned: InputScan) -> None:
    """Raise InputChanged or InputInvalid unless the file is unchanged since the scan, or was removed."""
    if not path.exists():
        return
    with PromptFile(path) as file:
        if file.stamp == scanned.stamp:
            return
        for _ in file.lines():
            pass
        if file.digest != scanned.sha256:
            raise changed(str(path), "it is")


def check_value(raw: RawLine) -> int:
    """The checksum of a line: CRC-32 of its content, seeded with its number."""
    return zlib.crc32(raw.content or b"", raw.number & 0xFFFF_FFFF)

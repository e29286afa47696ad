"""The lines of a run that are not done yet, read ahead."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

from cactus_actors.batch.input_scan import LINES_A_STEP, InputScan, changed, check_value
from cactus_actors.batch.prompt_file import Format, PromptFile
from cactus_actors.batch.prompt_lines import PromptLine, decode_line


class PendingLines:
    """Returns the lines of `file` that are not done, in order, to any number of tasks.

    The file is read again, and may have changed: lines that differ from the scan are never returned.
    """

    def __init__(
        self, file: PromptFile, form: Format, scanned: InputScan, is_done: Callable[[str], bool], max_ahead_bytes: int
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
                raise changed(self._file.path, f"line {raw.number} is")
            num_bytes += len(raw.content or b"")
            line = decode_line(raw, self._form)
            if not self._is_done(line.custom_id):
                lines.append(line)
            if num_bytes > self._max_ahead_bytes or num_before % LINES_A_STEP == 0:
                yield lines
                lines, num_bytes = [], 0
        yield lines
        if self._file.digest != self._scanned.sha256:
            raise changed(self._file.path, "its end is")

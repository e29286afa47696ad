"""The lines of a run that are still to be done, read ahead."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

from cactus_actors.batch.input_scan import LINES_A_STEP, InputScan, changed, check_value
from cactus_actors.batch.prompt_file import Format, PromptFile
from cactus_actors.batch.prompt_lines import PromptLine, decode_line


class PendingLines:
    """Gives every line of `file` that `is_done` does not know, in order, to any number of tasks.

    What the scan did not see is never given: the file is read again here, and may have changed since.
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
        """A line, None behind the last; raises InputChanged, InputInvalid."""
        async with self._reading:
            while not self._ready:
                lines = await asyncio.to_thread(next, self._steps, None)
                if lines is None:
                    return None
                self._ready.extend(lines)
            return self._ready.popleft()

    def _read(self) -> Iterator[list[PromptLine]]:
        """Steps of few lines and bytes, empty ones where all is done."""
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

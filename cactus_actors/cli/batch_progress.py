"""The progress of a run: a bar on a terminal, occasional lines in a log."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TextIO

from cactus_actors.cli.terminal import counted, print_page, terminal_console

if TYPE_CHECKING:
    from rich.console import Console

    from cactus_actors.batch import BatchProgress, Reason, SecondPassProgress

LOG_EVERY_S = 10.0
MAX_MESSAGE = 500


@contextlib.contextmanager
def shown_progress(name: str, stream: TextIO) -> Iterator[Callable[[BatchProgress], None]]:
    """The observer that shows the progress of the file `name`."""
    console = terminal_console(stream)
    if console is not None:
        with _bar(name, console) as show:
            yield show
    else:
        log = ProgressLog(name)

        def write(progress: BatchProgress) -> None:
            if (line := log.line(progress, time.monotonic())) is not None:
                print(line, file=stream, flush=True)

        yield write


@contextlib.contextmanager
def shown_second_pass(name: str, stream: TextIO) -> Iterator[Callable[[SecondPassProgress], None]]:
    """The observer that shows the second pass over the file `name`."""
    console = terminal_console(stream)
    if console is not None:
        from rich.text import Text

        with console.status("") as status:
            yield lambda progress: status.update(Text(second_pass_line(name, progress)))
        return
    yield PassLog(name, lambda line: print(line, file=stream, flush=True)).observe


class PassLog:
    """Writes a line at the start of a second pass, then one every LOG_EVERY_S while there is news of it."""

    def __init__(self, name: str, write: Callable[[str], None]) -> None:
        self._name = name
        self._write = write
        self._logged_at = float("-inf")

    def observe(self, progress: SecondPassProgress) -> None:
        """Write the state, unless the last line is too new."""
        if time.monotonic() - self._logged_at >= LOG_EVERY_S:
            self._logged_at = time.monotonic()
            self._write(second_pass_line(self._name, progress))


def second_pass_line(name: str, progress: SecondPassProgress) -> str:
    """The state of a second pass."""
    num_answered = min(progress.num_lines, progress.num_done + progress.num_ended)
    noun = "batch" if progress.num_batches == 1 else "batches"
    batches = f", {progress.num_batches} {noun} under way" if progress.num_batches else ""
    notice = f"; {progress.notice}" if progress.notice else ""
    return f"{name}: second pass: {num_answered} of {progress.num_lines} lines{batches}{notice}"


def show_reasons(reasons: Sequence[Reason], noun: Literal["line", "row"] = "line") -> None:
    """Print the reasons of failed lines: for each a line with number and kind, and the message of the first failure.

    `noun` is what the input has numbers for.
    """
    from rich.padding import Padding
    from rich.text import Text

    for reason in reasons:
        name = reason.code if reason.param is None else f"{reason.code} ({reason.param})"
        first = "" if reason.first_line is None else f", the first is {noun} {reason.first_line}"
        print_page(Text(f"{counted(reason.count, 'line')} failed with {name}{first}:"), stderr=True)
        print_page(Padding(Text(reason.message[:MAX_MESSAGE]), (0, 0, 0, 4)), stderr=True)


class ProgressLog:
    """A line at the start, then one every LOG_EVERY_S while there is progress."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._logged_at: float | None = None

    def line(self, progress: BatchProgress, now: float) -> str | None:
        """The line to write at `now`, a monotonic time."""
        if self._logged_at is not None and now - self._logged_at < LOG_EVERY_S:
            return None
        self._logged_at = now
        parts = [f"{progress.num_done} of {progress.num_lines} lines"]
        if progress.num_failed:
            parts.append(f"{progress.num_failed} failed")
        if progress.num_handed_off:
            parts.append(f"{progress.num_handed_off} handed off")
        if num_new := progress.num_done - progress.num_resumed:
            rate = progress.completion_tokens / max(1e-9, now - progress.started)
            parts.append(f"{progress.completion_tokens} tokens, {rate:.0f} tokens/s")
            left_s = (now - progress.started) / num_new * (progress.num_lines - progress.num_done)
            parts.append(f"{duration(left_s)} left")
        return f"{self._name}: {', '.join(parts)}"


@contextlib.contextmanager
def _bar(name: str, console: Console) -> Iterator[Callable[[BatchProgress], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[tokens]} tokens, {task.fields[rate]:.0f} tokens/s"),
        TextColumn("{task.fields[failed]} failed, {task.fields[handed_off]} handed off"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=console)
    task = bar.add_task(name, total=None, tokens=0, rate=0.0, failed=0, handed_off=0)

    def show(progress: BatchProgress) -> None:
        bar.start()  # an error before the run starts shows no bar
        bar.update(
            task,
            total=progress.num_lines,
            completed=progress.num_done,
            tokens=progress.completion_tokens,
            rate=progress.tokens_per_second,
            failed=progress.num_failed,
            handed_off=progress.num_handed_off,
        )

    try:
        yield show
    finally:
        if bar.live.is_started:
            bar.stop()


def duration(seconds: float) -> str:
    """A time in words."""
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"

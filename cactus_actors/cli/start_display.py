"""What a start waits for, as bars at the bottom of a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from cactus_actors.fleet.start_phases import StartPhase


class StartDisplay:
    """A line for each phase: a bar while it is known how much is done, else that something goes on.

    Lines that others write to standard error meanwhile stand above. It is gone after the start.
    """

    def __init__(self) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
        )
        self._tasks: dict[str, tuple[TaskID, str]] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, phase: StartPhase) -> None:
        """Show where somebody is."""
        task, name = self._tasks.get(phase.who, (None, ""))
        if task is None or name != phase.name:
            if task is not None:
                self._progress.remove_task(task)
            task = self._progress.add_task(phase.text, total=None)
            self._tasks[phase.who] = task, phase.name
        if phase.share_done is not None:
            self._progress.update(task, total=1.0, completed=phase.share_done)

"""The phases of a start, as bars at the bottom of a terminal."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from cactus_actors.fleet.start_phases import StartPhase


class StartDisplay:
    """A line for each phase: a bar if the completed share is known, otherwise an activity indicator.

    Other lines on standard error appear above. The display is removed after the start.
    """

    def __init__(self) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
        )
        self._tasks: dict[str, tuple[TaskID, str]] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, phase: StartPhase) -> None:
        """Show the phase of an actor."""
        task, name = self._tasks.get(phase.who, (None, ""))
        if task is None or name != phase.name:
            if task is not None:
                self._progress.remove_task(task)
            task = self._progress.add_task(phase.text, total=None)
            self._tasks[phase.who] = task, phase.name
        self._progress.update(task, description=phase.now)
        if phase.share_done is not None:
            self._progress.update(task, total=1.0, completed=phase.share_done)

"""The progress of a run over all its parts."""

from __future__ import annotations

import time
from dataclasses import replace

from cactus_actors.batch import BatchProgress
from cactus_actors.batch.batch_request import Observer
from cactus_actors.data.parts.manifest import PartRecord
from cactus_actors.data.parts.parts_plan import PartsPlan


class PartsProgress:
    """Counts the rows of the parts that are settled, and the lines of the one that runs."""

    def __init__(self, plan: PartsPlan, observe: Observer) -> None:
        settled = plan.settled()
        self.settled = frozenset(settled)
        self._observe = observe
        before = settled.values()
        self._all = BatchProgress(
            num_lines=plan.manifest.num_rows,
            num_succeeded=sum(record.num_rows - record.figures.num_failed for record in before),
            num_failed=sum(record.figures.num_failed for record in before),
            num_resumed=sum(record.num_rows for record in before),
            completion_tokens=0,
            started=time.monotonic(),
        )
        observe(self._all, None, None)

    def within(self, part: BatchProgress, *_: object) -> None:
        """Show the lines of a part that is not finished."""
        self._show(part.num_succeeded, part.num_failed, part.completion_tokens, part.num_handed_off)

    def add(self, record: PartRecord) -> None:
        """Count a finished part."""
        figures = record.figures
        self._all = self._sum(
            record.num_rows - figures.num_failed, figures.num_failed, figures.completion_tokens, figures.num_handed_off
        )
        self._observe(self._all, None, None)

    def _show(self, succeeded: int, failed: int, tokens: int, handed_off: int) -> None:
        self._observe(self._sum(succeeded, failed, tokens, handed_off), None, None)

    def _sum(self, succeeded: int, failed: int, tokens: int, handed_off: int) -> BatchProgress:
        return replace(
            self._all,
            num_succeeded=self._all.num_succeeded + succeeded,
            num_failed=self._all.num_failed + failed,
            completion_tokens=self._all.completion_tokens + tokens,
            num_handed_off=self._all.num_handed_off + handed_off,
        )

"""The progress of a run over all its parts."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from cactus_actors.batch import BatchProgress, SecondPassProgress
from cactus_actors.batch.batch_request import Observer
from cactus_actors.batch.second_pass.pass_record import PassObserver
from cactus_actors.data.parts.manifest import PartId, PartRecord
from cactus_actors.data.parts.parts_plan import PartsPlan


class PartsProgress:
    """Counts the rows of the parts that are settled, and the lines of those that are not finished."""

    def __init__(self, plan: PartsPlan, observe: Observer) -> None:
        settled = plan.settled()
        self.settled = frozenset(settled)
        self._observe = observe
        self._unfinished: dict[PartId, BatchProgress] = {}
        before = settled.values()
        self._finished = BatchProgress(
            num_lines=plan.manifest.num_rows,
            num_succeeded=sum(record.num_rows - record.figures.num_failed for record in before),
            num_failed=sum(record.figures.num_failed for record in before),
            num_resumed=sum(record.num_rows for record in before),
            completion_tokens=0,
            started=time.monotonic(),
        )
        self._show()

    def of(self, part: PartId) -> Observer:
        """The observer of the lines of a part."""

        def observe(progress: BatchProgress, *_: object) -> None:
            self._unfinished[part] = progress
            self._show()

        return observe

    def add(self, part: PartId, record: PartRecord) -> None:
        """Count a finished part."""
        self._unfinished.pop(part, None)
        figures = record.figures
        of_part = replace(
            self._finished,
            num_succeeded=record.num_rows - figures.num_failed,
            num_failed=figures.num_failed,
            completion_tokens=figures.completion_tokens,
            num_handed_off=figures.num_handed_off,
        )
        self._finished = _sum(self._finished, [of_part])
        self._show()

    def _show(self) -> None:
        self._observe(_sum(self._finished, self._unfinished.values()), None, None)


def _sum(finished: BatchProgress, others: Iterable[BatchProgress]) -> BatchProgress:
    every = [finished, *others]
    return replace(
        finished,
        num_succeeded=sum(it.num_succeeded for it in every),
        num_failed=sum(it.num_failed for it in every),
        completion_tokens=sum(it.completion_tokens for it in every),
        num_handed_off=sum(it.num_handed_off for it in every),
    )


class PassesProgress:
    """Adds up the second passes of parts, several of which are under way at once."""

    def __init__(self, observe: PassObserver) -> None:
        self._observe = observe
        self._of_parts: dict[PartId, SecondPassProgress] = {}

    def of(self, part: PartId) -> PassObserver:
        """The observer of the second pass of a part."""

        def observe(progress: SecondPassProgress) -> None:
            self._of_parts[part] = progress
            every = self._of_parts.values()
            self._observe(
                SecondPassProgress(
                    num_lines=sum(it.num_lines for it in every),
                    num_done=sum(it.num_done for it in every),
                    num_ended=sum(it.num_ended for it in every),
                    num_batches=sum(it.num_batches for it in every),
                    notice=progress.notice,
                )
            )

        return observe

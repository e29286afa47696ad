"""The first step of the pipeline: reads the rows of files, part by part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from cactus_actors.data.parts import PartId, PartRecord, PartsPlan, check_part
from cactus_actors.data.parts.part_rows import encoded_rows
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.errors import CactusError

FILE, ROWS, OUTCOME = "file", "rows", "outcome"
"""The columns between the steps of the pipeline: places of files, encoded PartRows, and encoded PartOutcomes."""


class PartOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a finished part, an error that ends the run, or a notice of what it waits for."""

    part: PartId | None = None
    record: PartRecord | None = None
    error: ErrorInfo | None = None
    notice: str = ""


@dataclass(frozen=True)
class PartReading:
    """Reads files of the plan: a row for each part that is not settled, so that Ray cuts and joins no part."""

    plan: PartsPlan
    settled: frozenset[PartId]

    def __call__(self, files: dict[str, Any]) -> Iterator[dict[str, list[bytes]]]:
        """The parts of these files; what goes wrong is an outcome."""
        os.chdir(self.plan.directory)  # Ray starts its processes elsewhere
        try:
            for file in files[FILE]:
                for rows in self.plan.rows(int(file)):
                    if rows.part in self.settled:
                        check_part(self.plan, rows)
                    else:
                        yield {ROWS: [encoded_rows(rows)], OUTCOME: [b""]}
        except CactusError as error:
            yield {ROWS: [b""], OUTCOME: [msgspec.json.encode(PartOutcome(error=error.info()))]}

"""A run that answers a table in parts, as every process that takes part in it has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from cactus_actors.batch import BatchRequest
from cactus_actors.batch.batch_errors import OutputFailed
from cactus_actors.batch.report import RunFigures
from cactus_actors.data.parts.manifest import SUFFIXES, Manifest, PartId, PartRecord
from cactus_actors.data.parts.part_rows import PartRows, RowsInMemory, parts_of_file
from cactus_actors.data.parts.part_store import OWN, PartStore, part_store
from cactus_actors.data.readers import TableReader
from cactus_actors.data.row_prompts import RowPrompt, row_prompt
from cactus_actors.data.row_source import RowSource
from cactus_actors.data.table_format import TableFormat
from cactus_actors.data.table_output import TableOutput


@dataclass(frozen=True, kw_only=True)
class PartsReport:
    """The rows and parts that are there; an answer that does not obey the schema is a misfit."""

    target: str
    num_rows: int
    num_parts: int
    num_misfits: int
    figures: RunFigures


@dataclass(frozen=True, kw_only=True)
class PartsPlan:
    """The rows, the prompts and the place of a table in parts; can be pickled.

    Names of files are relative to `directory`. `run` has the options of its lines. `template` makes the prompts of rows
    of the format `form`; `carried` are the columns of the input in the table, which is written in `output_form` to
    `target`.
    """

    manifest: Manifest
    directory: Path
    run: BatchRequest
    table: TableReader
    form: TableFormat
    template: str | None
    shares_answers: bool
    target: str
    output_form: TableFormat
    carried: list[str]
    prefix: str

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name not in ("store", "_prompt")}

    @cached_property
    def store(self) -> PartStore:
        return part_store(self.target)

    @cached_property
    def _prompt(self) -> RowPrompt:
        return row_prompt(self.table.schema, self.form, self.template)

    def name(self, part: PartId) -> str:
        """The name of the file of a part."""
        return f"{part}.{SUFFIXES[self.output_form]}"

    def finished(self) -> set[PartId]:
        """The parts that are there."""
        names = self.store.names()
        return {part for part in self.manifest.parts() if self.name(part) in names}

    def is_finished(self) -> bool:
        """True if all parts are there."""
        return self.finished() == {*self.manifest.parts()}

    def settled(self) -> dict[PartId, PartRecord]:
        """The records of the parts that are there and stay: not of those whose failed rows are run again."""
        records = {part: self.record(part) for part in self.finished()}
        return {part: record for part, record in records.items() if not self._runs_again(record)}

    def settled_record(self, part: PartId) -> PartRecord | None:
        """The record of a part that is settled now."""
        if not self.store.has(self.name(part)):
            return None
        record = self.record(part)
        return None if self._runs_again(record) else record

    def is_run_again(self, part: PartId) -> bool:
        """True if the part is there, and its failed rows are run again."""
        return self.store.has(self.name(part)) and self._runs_again(self.record(part))

    def _runs_again(self, record: PartRecord) -> bool:
        return self.run.retry_failed and record.figures.num_failed > 0

    def rows(self, file: int) -> Iterator[PartRows]:
        """All parts of a file; raises InputInvalid."""
        columns = list(dict.fromkeys([*self.carried, *self._prompt.columns])) or self.table.schema.names[:1]
        return parts_of_file(self.table, self.manifest, file, columns)

    def source(self, rows: PartRows) -> RowSource:
        """The rows of a part as lines, numbered as in their file."""
        return RowSource(
            name=f"{self.manifest.files[rows.part.file].name}, {rows.part}",
            files=[],
            table=RowsInMemory(self.table.schema, rows.batches),
            prompt=self._prompt,
            template=self.template,
            first=rows.part.number * self.manifest.rows_per_part + 1,
            shares_answers=self.shares_answers,
        )

    def output(self, part: PartId, scratch: Path) -> TableOutput:
        """The file of a part while it is written in a folder."""
        return TableOutput(path=scratch / self.name(part), form=self.output_form, packing=None, carried=self.carried)

    def record(self, part: PartId) -> PartRecord:
        """The record of a finished part; raises OutputFailed."""
        content = self.store.read(record_name(part))
        if content is None:
            raise OutputFailed(f"{self.target}: {self.name(part)} is there without its record; remove it to repeat it")
        return msgspec.json.decode(content, type=PartRecord)

    def report(self) -> PartsReport:
        """What is there now; raises OutputFailed."""
        records = [self.record(part) for part in sorted(self.finished())]
        figures = RunFigures()
        for record in records:
            figures.merge(record.figures)
        return PartsReport(
            target=self.target,
            num_rows=sum(record.num_rows for record in records),
            num_parts=len(records),
            num_misfits=sum(record.num_misfits for record in records),
            figures=figures,
        )


def record_name(part: PartId) -> str:
    """The name of the record of a part."""
    return f"{OWN}/{part}.json"

"""What a table in parts is made of: the manifest of its run, and the record of each part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from cactus_actors.batch.batch_errors import InputChanged, OptionsChanged, OutputRefused
from cactus_actors.batch.option_changes import changes_in_words, with_max_tokens_of
from cactus_actors.batch.report import RunFigures
from cactus_actors.data.table_format import TableFormat

VERSION = 1
SUFFIXES: dict[TableFormat, str] = {
    "parquet": "parquet",
    "arrow": "arrow",
    "csv": "csv",
    "tsv": "tsv",
    "jsonl": "jsonl",
    "text": "txt",
}


class PartId(NamedTuple):
    """A part by the place of its input file among all, and its own place within that file, both from 0."""

    file: int
    number: int

    def __str__(self) -> str:
        return f"part-{self.file:05d}-{self.number:05d}"


class InputFile(msgspec.Struct, frozen=True):
    """An input file, and the number of its rows that are answered."""

    name: str
    num_rows: int


class PartRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a part: SHA-256 of the prompts of its rows, and the figures of its run."""

    sha256: str
    num_rows: int
    num_misfits: int
    figures: RunFigures


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of a run: its rows are those of `files`, in parts of at most `rows_per_part`.

    A file has a part at least: of a table without rows, one without rows has its columns.
    `parameters` are those that the answers and the columns depend on; `model` is that of the service.
    """

    version: int = VERSION
    run_id: str
    created: int
    files: list[InputFile]
    rows_per_part: int
    parameters: dict[str, Any]
    model: str = ""

    @property
    def num_rows(self) -> int:
        return sum(file.num_rows for file in self.files)

    def parts(self) -> Iterator[PartId]:
        """All parts, in the order of their rows."""
        for place, file in enumerate(self.files):
            for number in range(max(1, -(-file.num_rows // self.rows_per_part))):
                yield PartId(place, number)

    def retried_as(self, now: Manifest) -> Manifest:
        """This run, whose failed rows are run again with the `max_tokens` of `now`: it may have cut them off."""
        return msgspec.structs.replace(self, parameters=with_max_tokens_of(now.parameters, self.parameters))

    def check_same(self, now: Manifest, output: str) -> None:
        """Raise OptionsChanged or InputChanged unless `now` has the same options, files and model."""
        if changes := changes_in_words(self._options, now._options):
            raise OptionsChanged(
                f"{output}: options_changed: the run here began with other options: {'; '.join(changes)}. "
                "Give the options that it began with, or start again with --overwrite"
            )
        for mine, theirs in zip([*self.files, None], [*now.files, None], strict=False):
            if mine != theirs:
                raise InputChanged(
                    f"{output}: input_changed: the run here began with {_in_words(mine)}, where this one has "
                    f"{_in_words(theirs)}; restore the input, or start again with --overwrite"
                )
        if self.model and now.model and self.model != now.model:
            raise InputChanged(
                f"{output}: input_changed: the run here began with the model {self.model}, the service has "
                f"{now.model}; start the service with the first one, or start again with --overwrite"
            )

    @property
    def _options(self) -> dict[str, Any]:
        return {**self.parameters, "part_rows": self.rows_per_part}


def decoded_manifest(content: bytes, place: str) -> Manifest:
    """The manifest of a run; raises OutputRefused if it is damaged, or of another version."""
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise OutputRefused(f"{place}: the manifest of the run here is damaged; --overwrite starts again") from None
    if manifest.version != VERSION:
        raise OutputRefused(
            f"{place}: the manifest of the run here is of version {manifest.version}, this program reads {VERSION}; "
            "continue with the program that began it, or start again with --overwrite"
        )
    return manifest


def _in_words(file: InputFile | None) -> str:
    return "no more files" if file is None else f"{file.num_rows} rows of {file.name}"

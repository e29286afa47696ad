"""The journal of a second pass: who is asked, and the batches that the cloud is asked for, before it is asked."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from cactus_actors.batch.batch_errors import OutputRefused, naming_file
from cactus_actors.batch.locked_file import open_locked, write_at
from cactus_actors.batch.paths import sync_directory


class Part(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Lines that are one batch of the cloud; question `i` is that of `custom_ids[i]`.

    `mark` identifies the batch before the cloud has given it its `batch_id`.
    """

    mark: str
    created: float = 0.0
    custom_ids: list[str] = []
    batch_id: str = ""
    is_done: bool = False


class _Header(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    run_id: str
    model: str = ""


class PassJournal:
    """Lines are only appended, and on disk when a method returns; a later line of a part changes it.

    `model` is the model of the service that is asked, "" for the cloud. An incomplete last line is ignored. Raises
    OutputRefused for a journal of another run or of another model, and OutputFailed.
    """

    def __init__(self, path: Path, run_id: str, model: str = "") -> None:
        self.path = path
        self.parts: dict[str, Part] = {}
        with naming_file(path):
            self._descriptor = open_locked(path)
        try:
            self._read(_Header(run_id, model))
        except BaseException:
            os.close(self._descriptor)
            raise

    def begin(self, custom_ids: Sequence[str]) -> Part:
        """Record a new batch, with a mark of its own."""
        part = Part(mark=secrets.token_hex(16), created=round(time.time(), 3), custom_ids=list(custom_ids))
        self._add(part)
        self.parts[part.mark] = part
        return part

    def set_batch_id(self, part: Part, batch_id: str) -> None:
        """Record the cloud's name of a batch."""
        part.batch_id = batch_id
        self._add(Part(mark=part.mark, batch_id=batch_id))

    def mark_done(self, part: Part) -> None:
        """Record that every line of a batch has its answer on disk, or the reason why there is none."""
        part.is_done = True
        self._add(Part(mark=part.mark, is_done=True))

    def close(self) -> None:
        os.close(self._descriptor)

    def _read(self, wanted: _Header) -> None:
        with naming_file(self.path):
            content = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
        self._size = content.rfind(b"\n") + 1
        lines = content[: self._size].splitlines()
        if not lines:
            self._add(wanted)
            return
        try:
            self._check(msgspec.json.decode(lines[0], type=_Header), wanted)
            for line in lines[1:]:
                self._take(msgspec.json.decode(line, type=Part))
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
            raise OutputRefused(
                f"{self.path}: is damaged; restore it, or start again with --overwrite: "
                "it names the batches that the cloud was asked for"
            ) from None

    def _check(self, found: _Header, wanted: _Header) -> None:
        if found.run_id != wanted.run_id:
            raise OutputRefused(f"{self.path}: is of another run; remove it, or start again with --overwrite")
        if found.model != wanted.model:
            option = f"--second-pass-model {found.model}" if found.model else "--second-pass"
            raise OutputRefused(
                f"{self.path}: a second pass by {found.model or 'the cloud'} is unfinished; finish it with {option}, "
                "or remove the file"
            )

    def _take(self, record: Part) -> None:
        if record.custom_ids:
            self.parts[record.mark] = record
            return
        part = self.parts[record.mark]
        part.batch_id = record.batch_id or part.batch_id
        part.is_done = record.is_done or part.is_done

    def _add(self, record: msgspec.Struct) -> None:
        with naming_file(self.path):
            os.ftruncate(self._descriptor, self._size)
            size = write_at(self._descriptor, self._size, msgspec.json.encode(record))
            os.fsync(self._descriptor)
            sync_directory(self.path.parent)
        self._size = size

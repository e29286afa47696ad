"""Stored responses in a database: of each its record, its job while that runs, and then its answer."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.api.openai import BodyRequest
from cactus_actors.api.responses import EndedAnswer, Item, ResponseHead
from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.gateway.files.record_files import StoredRecord
from cactus_actors.process.private_directories import make_private
from cactus_actors.protocol.errors import QuotaExceeded, StorageFailure

_SCHEMA = """
CREATE TABLE IF NOT EXISTS responses (
    name TEXT PRIMARY KEY, tenant TEXT NOT NULL, begins_at REAL NOT NULL, num_bytes INTEGER NOT NULL,
    record BLOB NOT NULL, job BLOB, answer BLOB);
CREATE INDEX IF NOT EXISTS by_age ON responses (tenant, begins_at);
"""
_log = logging.getLogger(__name__)


class ResponseRecord(StoredRecord, kw_only=True):
    """A response from its beginning: its request without the prompt, its input, and a digest of the request's body."""

    head: ResponseHead
    asked: BodyRequest
    items: list[Item]
    digest: bytes

    @property
    def name(self) -> str:
        """The id of the response."""
        return self.head.response_id


class StoredResponse(msgspec.Struct, frozen=True):
    """A record, and its job or its answer; `is_new` until another request names it."""

    record: ResponseRecord
    job: EncodedSubmit | None
    answer: EndedAnswer | None
    is_new: bool = False


_records = msgspec.msgpack.Decoder(ResponseRecord)
_answers = msgspec.msgpack.Decoder(EndedAnswer)


class ResponseStore:
    """All stored responses; may be used by several threads.

    Of each tenant the newest `max_responses` are kept, of `max_bytes` in all: older ones that have ended give way.
    """

    def __init__(self, path: Path, max_responses: int, max_bytes: int) -> None:
        """Open or create the database; a damaged one is put aside. Raises StorageFailure."""
        self._max_responses = max_responses
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._number: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        try:
            make_private(path.parent)
            try:
                self._database = _opened(path)
            except sqlite3.OperationalError:  # locked, full, or not readable: it is whole
                raise
            except sqlite3.DatabaseError:
                _put_aside(path)
                self._database = _opened(path)
        except OSError as error:
            raise StorageFailure(f"{path}: {error.strerror}") from None
        except sqlite3.Error as error:
            raise StorageFailure(f"{path}: {error}") from None
        counts = "SELECT tenant, count(*), sum(num_bytes) FROM responses GROUP BY tenant"
        for tenant, number, num_bytes in self._database.execute(counts):
            self._number[tenant], self._bytes[tenant] = number, num_bytes

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._database.close()

    def begin(self, record: ResponseRecord, job: EncodedSubmit) -> StoredResponse:
        """Keep a response whose job is not submitted yet; returns the one that has its id already, if there is one.

        Raises QuotaExceeded and StorageFailure.
        """
        written, frames = msgspec.msgpack.encode(record), msgspec.msgpack.encode(job)
        num_bytes = len(written) + len(frames)
        with self._changing():
            known = self._get(record.name)
            if known is not None:
                return known
            self._make_room(record.tenant, num_bytes)
            row = (record.name, record.tenant, record.begins_at, num_bytes, written, frames)
            self._database.execute("INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, NULL)", row)
            self._number[record.tenant] += 1
            self._bytes[record.tenant] += num_bytes
        return StoredResponse(record, job, None, is_new=True)

    def end(self, name: str, answer: EndedAnswer) -> None:
        """Keep the answer in the place of the job; without effect if the response was deleted or has one.

        Raises StorageFailure.
        """
        written = msgspec.msgpack.encode(answer)
        with self._changing():
            found = self._database.execute(
                "SELECT tenant, num_bytes, length(record) FROM responses WHERE name = ? AND answer IS NULL", (name,)
            ).fetchone()
            if found is None:
                return
            tenant, before, num_bytes = found[0], found[1], found[2] + len(written)
            change = "UPDATE responses SET job = NULL, answer = ?, num_bytes = ? WHERE name = ?"
            self._database.execute(change, (written, num_bytes, name))
            self._bytes[tenant] += num_bytes - before

    def get(self, name: str) -> StoredResponse | None:
        """The response of that id; raises StorageFailure."""
        with self._changing():
            return self._get(name)

    def unended(self) -> list[StoredResponse]:
        """The responses whose jobs have not ended; raises StorageFailure."""
        with self._changing():
            rows = self._database.execute("SELECT record, job, answer FROM responses WHERE answer IS NULL")
            return [stored for row in rows.fetchall() if (stored := _stored(row)) is not None]

    def delete(self, name: str) -> bool:
        """Remove a response; returns False if there is none. Raises StorageFailure."""
        with self._changing():
            return self._delete("name = ?", name) > 0

    def forget_before(self, begins_at: float) -> int:
        """Remove the ended responses that are older; returns their number. Raises StorageFailure."""
        with self._changing():
            return self._delete("answer IS NOT NULL AND begins_at <= ?", begins_at)

    def _get(self, name: str) -> StoredResponse | None:
        found = self._database.execute("SELECT record, job, answer FROM responses WHERE name = ?", (name,)).fetchone()
        return None if found is None else _stored(found)

    def _make_room(self, tenant: str, num_bytes: int) -> None:
        """Remove a tenant's oldest ended responses until another one fits."""
        if num_bytes > self._max_bytes:
            raise QuotaExceeded(f"this response takes {num_bytes} bytes; all of a key take at most {self._max_bytes}")
        while self._number[tenant] >= self._max_responses or self._bytes[tenant] + num_bytes > self._max_bytes:
            oldest = self._database.execute(
                "SELECT name FROM responses WHERE tenant = ? AND answer IS NOT NULL ORDER BY begins_at LIMIT 1",
                (tenant,),
            ).fetchone()
            if oldest is None:
                raise QuotaExceeded("the responses of this key that have not ended take all its room: cancel some")
            self._delete("name = ?", oldest[0])

    def _delete(self, condition: str, *values: Any) -> int:
        removed = self._database.execute(
            f"DELETE FROM responses WHERE {condition} RETURNING tenant, num_bytes",  # noqa: S608  our own words
            values,
        ).fetchall()
        for tenant, num_bytes in removed:
            self._number[tenant] -= 1
            self._bytes[tenant] -= num_bytes
        return len(removed)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """One transaction, which is on the disk after it."""
        with self._lock:
            counts = self._number.copy(), self._bytes.copy()
            try:
                with self._database:
                    yield
            except BaseException as error:
                self._number, self._bytes = counts
                if isinstance(error, sqlite3.Error):
                    raise StorageFailure(f"the response cannot be kept: {error}") from None
                raise


def _opened(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)
    database = sqlite3.connect(path, check_same_thread=False)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.executescript(_SCHEMA)
    except BaseException:
        database.close()
        raise
    return database


def _put_aside(path: Path) -> None:
    """Rename a damaged database and its log."""
    _log.error("%s is damaged: it has the ending .damaged now, and stored responses are lost", path)
    for ending in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).replace(path.with_name(f"{path.name}.damaged{ending}"))


def _stored(row: tuple[bytes, bytes | None, bytes | None]) -> StoredResponse | None:
    """The response of a row; None for one that another version has written in another form."""
    record, job, answer = row
    with contextlib.suppress(msgspec.DecodeError):
        return StoredResponse(
            _records.decode(record),
            None if job is None else msgspec.msgpack.decode(job, type=EncodedSubmit),
            None if answer is None else _answers.decode(answer),
        )
    return None

"""Uploaded files and results as OpenAI's files: a record and its content, with a retention."""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from cactus_actors.gateway.files.quota import FileQuota
from cactus_actors.gateway.files.record_files import RecordFiles, StoredRecord
from cactus_actors.process.private_directories import open_private
from cactus_actors.protocol.errors import ResourceNotFound, StorageFailure


class FileRecord(StoredRecord, kw_only=True):
    """A file as its owner sees it; `num_bytes` is its size."""

    file_id: str
    filename: str
    purpose: str
    num_bytes: int


class FileStore:
    """Files under a directory; each is visible to its tenant only.

    `now` is the clock of `wall_clock.py`.
    """

    def __init__(self, directory: Path, quota: FileQuota | None = None, now: Callable[[], float] = time.time) -> None:
        self.quota = quota or FileQuota()
        self._directory = directory
        self._now = now
        self._receiving: Counter[str] = Counter()  # bytes of uploads under way, by tenant
        self._records = RecordFiles(directory, FileRecord)
        self._kept: Counter[str] = Counter()  # bytes of files, by tenant
        for _, record in self._records.items():
            self._kept[record.tenant] += record.num_bytes
        for content in directory.glob("*.content"):
            if self._records.get(content.stem) is None:  # its upload was interrupted
                content.unlink(missing_ok=True)

    def path(self, file_id: str) -> Path:
        """Path of the content."""
        return self._directory / f"{file_id}.content"

    def get(self, file_id: str, tenant: str) -> FileRecord:
        """A tenant's file; raises ResourceNotFound, also for a foreign one."""
        record = self._records.get(file_id)
        if record is None or record.tenant != tenant:
            raise ResourceNotFound(f"no file {file_id[:64]!r}")
        return record

    def body(self, record: FileRecord) -> dict[str, Any]:
        """OpenAI's file object."""
        return {
            "id": record.file_id,
            "object": "file",
            "bytes": record.num_bytes,
            "created_at": int(record.created_at),
            "expires_at": int(record.created_at + self.quota.max_age_s),
            "filename": record.filename,
            "purpose": record.purpose,
            "status": "processed",
        }

    def all_of(self, tenant: str) -> list[FileRecord]:
        """A tenant's files, newest first."""
        return [record for _, record in reversed(self._records.items()) if record.tenant == tenant]

    def num_bytes(self, tenant: str) -> int:
        """Bytes of a tenant's files, including uploads in progress."""
        return self._kept[tenant] + self._receiving[tenant]

    async def receive(self, chunks: AsyncIterator[bytes], tenant: str) -> str:
        """Write `chunks` to the disk, and return an id, to be kept or discarded.

        Raises QuotaExceeded, StorageFailure, and the errors of `chunks`, with nothing left on the disk.
        """
        self.quota.check_number(len(self.all_of(tenant)))
        file_id = new_file_id()
        path = self.path(file_id)
        num_received = 0
        try:
            with open_private(path) as file:
                async for chunk in chunks:
                    num_received += len(chunk)
                    self._receiving[tenant] += len(chunk)
                    self.quota.check_bytes(self.num_bytes(tenant))
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            path.unlink(missing_ok=True)
            raise StorageFailure(f"the file cannot be kept: {error.strerror}") from None
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            self._receiving[tenant] -= num_received
        return file_id

    def discard(self, file_id: str) -> None:
        """Remove a received file that is not kept."""
        self.path(file_id).unlink(missing_ok=True)

    def adopt(self, path: Path, file_id: str, filename: str, purpose: str, tenant: str) -> None:
        """Move an existing file into the store; a repeated call with the same id completes an interrupted one."""
        if not path.exists():
            return
        self._put(file_id, filename, purpose, tenant, path)  # first: content without a record counts as an upload
        try:
            path.replace(self.path(file_id))
        except OSError as error:
            raise StorageFailure(f"the file cannot be kept: {error.strerror}") from None

    def delete(self, file_id: str, tenant: str) -> None:
        """Remove a tenant's file; raises ResourceNotFound."""
        self._remove(file_id, self.get(file_id, tenant))

    def forget_old(self, is_needed: Callable[[str], bool]) -> None:
        """Remove files whose retention is over, unless they are needed."""
        for file_id in self.quota.expired(self._records.items(), self._now()):
            record = self._records.get(file_id)
            if record is not None and not is_needed(file_id):
                self._remove(file_id, record)

    def keep(self, file_id: str, filename: str, purpose: str, tenant: str) -> FileRecord:
        """Make a received file the tenant's; raises StorageFailure."""
        return self._put(file_id, filename, purpose, tenant, self.path(file_id))

    def _put(self, file_id: str, filename: str, purpose: str, tenant: str, content: Path) -> FileRecord:
        record = FileRecord(
            created_at=time.time(),
            taken_at=self._now(),
            tenant=tenant,
            file_id=file_id,
            filename=filename,
            purpose=purpose,
            num_bytes=content.stat().st_size,
        )
        before = self._records.get(file_id)
        self._records.put(file_id, record)
        self._kept[tenant] += record.num_bytes
        if before is not None:
            self._kept[before.tenant] -= before.num_bytes
        return record

    def _remove(self, file_id: str, record: FileRecord) -> None:
        self._kept[record.tenant] -= record.num_bytes
        self._records.remove(file_id)
        self.path(file_id).unlink(missing_ok=True)


def new_file_id() -> str:
    """An id that no file has."""
    return f"file-{secrets.token_hex(12)}"

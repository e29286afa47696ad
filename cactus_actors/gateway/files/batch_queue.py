"""Batches, run in each tenant's order at background priority, and continued after a restart."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from cactus_actors.batch.batch_errors import InputInvalid, OutputFailed, OutputLocked
from cactus_actors.batch.batch_output import BatchOutput, num_results, publish
from cactus_actors.batch.batch_request import DEFAULT_LIMITS, BatchLimits, BatchProgress, BatchRequest
from cactus_actors.batch.batch_runner import run_batch
from cactus_actors.batch.prompt_lines import decode_line
from cactus_actors.client import AsyncClient
from cactus_actors.gateway.files.batch_check import checked
from cactus_actors.gateway.files.batch_record import EXPIRED, BatchFault, BatchRecord, BatchStatus, Endpoint
from cactus_actors.gateway.files.file_store import FileStore, new_file_id
from cactus_actors.gateway.files.line_slots import LineSlots
from cactus_actors.gateway.files.record_files import RecordFiles
from cactus_actors.protocol.errors import (
    CactusError,
    InvalidRequest,
    Overloaded,
    QuotaExceeded,
    ResourceNotFound,
    StorageFailure,
    Unavailable,
)
from cactus_actors.protocol.options import Options

SAVE_EVERY_S = 1.0
EXPIRE_EVERY_S = 600.0

_TRANSIENT = (Unavailable, Overloaded, StorageFailure, OutputFailed, OutputLocked)
"""Transient errors: the batch is tried again."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


class BatchQueue:
    """All batches under a directory; `run` runs them, the oldest of each tenant first.

    `in_flight` lines run at once, of all tenants together. `unix_offset` converts the monotonic clock to Unix time,
    by which a batch ages across restarts. Lines that have not run after `window_s` never run.
    """

    def __init__(
        self,
        directory: Path,
        files: FileStore,
        client: AsyncClient,
        *,
        in_flight: int,
        unix_offset: float,
        limits: BatchLimits = DEFAULT_LIMITS,
        window_s: float = 24 * 3600,
        retry_s: float = 5.0,
    ) -> None:
        self._directory = directory
        self._limits = limits
        self._files = files
        self._client = client
        self._in_flight = in_flight
        self._slots = LineSlots(in_flight)
        self._unix_offset = unix_offset
        self._window_s = window_s
        self._retry_s = retry_s
        self._records = RecordFiles(directory, BatchRecord)
        self._arrived = asyncio.Event()
        self._working: dict[str, asyncio.Task[None]] = {}

    def create(
        self,
        endpoint: Endpoint,
        input_file_id: str,
        tenant: str,
        metadata: dict[str, str] | None,
        *,
        owned_lines: int | None = None,
    ) -> BatchRecord:
        """Create a batch; one of `owned_lines` lines owns its files.

        Raises ResourceNotFound if there is no such file, QuotaExceeded if its results would not fit.
        """
        try:
            self._files.get(input_file_id, tenant)
        except ResourceNotFound as error:
            raise ResourceNotFound(error.message, param="input_file_id") from None
        self._files.quota.check_bytes(self._files.num_bytes(tenant))
        self._make_room(tenant)
        record = BatchRecord(
            created_at=time.time(),
            taken_at=self._now(),
            tenant=tenant,
            batch_id=f"{'batch' if owned_lines is None else 'msgbatch'}_{secrets.token_hex(12)}",
            endpoint=endpoint,
            input_file_id=input_file_id,
            num_lines=owned_lines or 0,
            metadata=metadata,
            owns_files=owned_lines is not None,
            window_s=self._window_s,
        )
        self._save(record)
        self._arrived.set()
        return record

    def get(self, batch_id: str, tenant: str) -> BatchRecord:
        """A tenant's batch; raises ResourceNotFound, also for a foreign one."""
        record = self._records.get(batch_id)
        if record is None or record.tenant != tenant:
            raise ResourceNotFound(f"no batch {batch_id[:64]!r}")
        return record

    def get_owner(self, batch_id: str, tenant: str) -> BatchRecord:
        """A tenant's batch that owns its files; raises ResourceNotFound."""
        record = self.get(batch_id, tenant)
        if not record.owns_files:
            raise ResourceNotFound(f"no message batch {batch_id[:64]!r}")
        return record

    def all_of(self, tenant: str) -> list[BatchRecord]:
        """A tenant's batches, newest first."""
        return [record for _, record in reversed(self._records.items()) if record.tenant == tenant]

    def needs(self, file_id: str) -> bool:
        """True if a batch needs this file."""
        return any(record.needs(file_id) for _, record in self._records.items())

    def forget_old(self) -> None:
        """Remove ended batches whose retention is over."""
        for batch_id in self._files.quota.expired(self._records.items(), self._now()):
            record = self._records.get(batch_id)
            if record is not None and record.has_ended:
                self._forget(record)

    def delete(self, batch_id: str, tenant: str) -> None:
        """Remove an ended batch that owns its files; raises ResourceNotFound, InvalidRequest if it has not ended."""
        record = self.get_owner(batch_id, tenant)
        if not record.has_ended:
            raise InvalidRequest("the batch has not ended: cancel it first")
        self._forget(record)

    def cancel(self, batch_id: str, tenant: str) -> BatchRecord:
        """Cancel a batch and its running lines, also out of turn; an ended batch does not change."""
        record = self.get(batch_id, tenant)
        if not record.has_ended and record.status != "cancelling":
            self._enter(record, "cancelling")
            if batch_id in self._working:
                self._working[batch_id].cancel()
            self._arrived.set()
        return record

    async def expire(self) -> None:
        """Remove batches and files whose retention is over, forever."""
        while True:
            self.forget_old()
            self._files.forget_old(self.needs)
            await asyncio.sleep(EXPIRE_EVERY_S)

    async def run(self) -> None:
        """Run batches, forever."""
        try:
            while True:
                self._arrived.clear()
                for record in self._due():
                    self._work_on(record)
                await self._arrived.wait()
        finally:
            working = [*self._working.values()]
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)

    def _due(self) -> list[BatchRecord]:
        """The batches to start now: each tenant's oldest, and all that are being cancelled."""
        waiting = [record for _, record in self._records.items() if not record.has_ended]
        cancelled = [record for record in waiting if record.status == "cancelling"]
        turns: dict[str, BatchRecord] = {}
        for record in sorted(waiting, key=lambda record: (record.batch_id not in self._working, record.begins_at)):
            if record.status != "cancelling":
                turns.setdefault(record.tenant, record)
        return [record for record in (*turns.values(), *cancelled) if record.batch_id not in self._working]

    def _make_room(self, tenant: str) -> None:
        """Remove a tenant's oldest ended batch if it has too many.

        Raises QuotaExceeded if none has ended.
        """
        records = self.all_of(tenant)
        if len(records) < self._files.quota.max_files:
            return
        ended = [record for record in records if record.has_ended]
        if not ended:
            raise QuotaExceeded(f"this key has {len(records)} open batches, the maximum")
        self._forget(ended[-1])

    def _forget(self, record: BatchRecord) -> None:
        shutil.rmtree(self._directory / record.batch_id, ignore_errors=True)
        self._records.remove(record.batch_id)
        for file_id in (record.input_file_id, record.output_file_id, record.error_file_id):
            if record.owns_files and file_id is not None:
                with contextlib.suppress(ResourceNotFound):
                    self._files.delete(file_id, record.tenant)

    def _work_on(self, record: BatchRecord) -> None:
        def end(_: asyncio.Task[None]) -> None:
            del self._working[record.batch_id]
            self._arrived.set()

        self._working[record.batch_id] = asyncio.create_task(self._advance(record))
        self._working[record.batch_id].add_done_callback(end)

    async def _advance(self, record: BatchRecord) -> None:
        """Run a batch to its end; after a cancelled call the next one continues."""
        try:
            await self._take_steps(record)
        except _TRANSIENT as error:
            _log.warning("batch %s is retried in %g s: %s", record.batch_id, self._retry_s, error.message)
            await asyncio.sleep(self._retry_s)
        except Exception:
            _log.exception("batch %s is retried in %g s", record.batch_id, self._retry_s)
            await asyncio.sleep(self._retry_s)

    async def _take_steps(self, record: BatchRecord) -> None:
        try:
            if record.status == "validating":
                await self._validate(record)
            if record.status == "in_progress":
                await self._run_lines(record)
            if record.status == "cancelling":
                await self._finalize(record, "cancelled")
            elif record.status == "finalizing":
                await self._finalize(record, "completed")
        except _TRANSIENT:
            raise
        except CactusError as error:
            await self._fail(record, BatchFault(code=error.type, message=error.message))
        except Exception:
            _log.exception("batch %s failed", record.batch_id)
            await self._fail(record, BatchFault(code="server_error", message="an internal error occurred"))

    async def _validate(self, record: BatchRecord) -> None:
        path = self._files.path(record.input_file_id)
        num_lines, faults = await asyncio.to_thread(checked, path, record.endpoint, takes_salts=not record.tenant)
        if record.status == "validating":  # not cancelled meanwhile
            record.num_lines, record.faults = (0 if faults else num_lines), faults
            self._enter(record, "failed" if faults else "in_progress")

    async def _run_lines(self, record: BatchRecord) -> None:
        saved_at = 0.0

        def observe(progress: BatchProgress, *_: object) -> None:
            nonlocal saved_at
            record.num_lines = progress.num_lines
            record.num_completed = progress.num_succeeded
            record.num_failed = progress.num_failed
            if time.monotonic() - saved_at >= SAVE_EVERY_S:
                self._save(record)
                saved_at = time.monotonic()

        try:
            async with asyncio.timeout(record.seconds_left(self._now())):
                with self._slots.share() as share:
                    await run_batch(self._request(record), self._client, observe, share)
        except TimeoutError:
            await _uninterrupted(lambda: self._expire_lines(record))
            await self._finalize(record, "expired")
        else:
            self._enter(record, "finalizing")

    def _request(self, record: BatchRecord) -> BatchRequest:
        directory = self._directory / record.batch_id
        directory.mkdir(exist_ok=True, mode=0o700)
        salt = hashlib.blake2b(record.tenant.encode(), digest_size=16).hexdigest() if record.tenant else None
        return BatchRequest(
            source=self._files.path(record.input_file_id),
            output=directory / "output.jsonl",
            options=Options(cache_salt=salt),
            form="jsonl",
            max_in_flight=self._in_flight,
            resume=True,
            one_model=False,
            account=record.tenant,
            limits=self._limits,
        )

    def _expire_lines(self, record: BatchRecord) -> None:
        """Write an error for every line that did not run within the batch's window."""
        request = self._request(record)
        output = BatchOutput(request.paths)
        try:
            with request.open_source() as file:
                for raw in file.lines():
                    line = decode_line(raw, "jsonl")
                    if output.has(line.custom_id):
                        continue
                    error = {"code": EXPIRED, "message": "the batch expired before this line ran"}
                    written = {
                        "id": f"batch_req_{secrets.token_hex(12)}",
                        "custom_id": line.custom_id,
                        "response": None,
                        "error": error,
                    }
                    output.add(line.custom_id, msgspec.json.encode(written), succeeded=False)
        except InputInvalid:
            pass  # an unreadable input has no lines to write errors for
        finally:
            output.close()
        errors = request.paths.partial_errors.read_bytes()
        record.num_expired = errors.count(b'"error":{"code":"%b"' % EXPIRED.encode())

    async def _finalize(self, record: BatchRecord, status: BatchStatus) -> None:
        """Count the results and make them files of the tenant."""
        await self._count(record)
        paths = self._request(record).paths
        publish(paths)
        record.output_file_id = record.output_file_id or _id_for(paths.output)
        record.error_file_id = record.error_file_id or _id_for(paths.errors)
        self._save(record)  # adopted files are not at their first paths any more
        self._adopt(paths.output, record.output_file_id, record, "output")
        self._adopt(paths.errors, record.error_file_id, record, "errors")
        self._enter(record, status)

    async def _fail(self, record: BatchRecord, fault: BatchFault) -> None:
        record.faults.append(fault)
        with contextlib.suppress(OutputFailed, OutputLocked, OSError):
            await self._count(record)
        self._enter(record, "failed")

    async def _count(self, record: BatchRecord) -> None:
        """Count the lines of the files: the record may have been saved before the last ones were written."""
        paths = self._request(record).paths
        num_completed, num_failed = await _uninterrupted(lambda: num_results(paths))
        if num_completed is not None:
            record.num_completed = num_completed
        if num_failed is not None:
            record.num_failed = num_failed

    def _adopt(self, path: Path, file_id: str | None, record: BatchRecord, what: str) -> None:
        if file_id is not None:
            name = f"{record.batch_id}_{what}.jsonl"
            self._files.adopt(path, file_id, name, "batch_output", record.tenant)

    def _enter(self, record: BatchRecord, status: BatchStatus) -> None:
        record.enter(status)
        self._save(record)

    def _save(self, record: BatchRecord) -> None:
        self._records.put(record.batch_id, record)

    def _now(self) -> float:
        return time.monotonic() + self._unix_offset


def _id_for(path: Path) -> str | None:
    """A new id for a file that is not empty."""
    return new_file_id() if path.exists() and path.stat().st_size else None


async def _uninterrupted(work: Callable[[], T]) -> T:
    """Run a function in a thread; a cancelled call ends only when the thread does."""
    doing = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait([doing])
        raise

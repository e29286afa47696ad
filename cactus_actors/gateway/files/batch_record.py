"""The stored state of a batch, and OpenAI's batch object."""

from __future__ import annotations

import time
from typing import Any, Literal

import msgspec

from cactus_actors.gateway.files.record_files import StoredRecord

Endpoint = Literal["/v1/chat/completions", "/v1/completions", "/v1/messages"]
BatchStatus = Literal[
    "validating",
    "failed",
    "in_progress",
    "finalizing",
    "completed",
    "expired",
    "cancelling",
    "cancelled",
]
EXPIRED = "batch_expired"
"""The code of a line that did not run within its batch's window."""
ENDED: frozenset[BatchStatus] = frozenset({"failed", "completed", "expired", "cancelled"})


class BatchFault(msgspec.Struct, kw_only=True):
    """A fault of an input file; `line` counts from 1."""

    code: str
    message: str
    param: str | None = None
    line: int | None = None


class BatchRecord(StoredRecord, kw_only=True):
    """`times` has the Unix seconds at which the batch entered each status.

    One that `owns_files` was made from a request with all of its lines: its files are removed together with it.
    """

    batch_id: str
    endpoint: Endpoint
    input_file_id: str
    status: BatchStatus = "validating"
    times: dict[str, int] = msgspec.field(default_factory=dict)
    faults: list[BatchFault] = msgspec.field(default_factory=list)
    output_file_id: str | None = None
    error_file_id: str | None = None
    num_lines: int = 0
    num_completed: int = 0
    num_failed: int = 0
    num_expired: int = 0
    metadata: dict[str, str] | None = None
    owns_files: bool = False
    window_s: float = 24 * 3600

    @property
    def has_ended(self) -> bool:
        """True once the batch is in a final state."""
        return self.status in ENDED

    def needs(self, file_id: str) -> bool:
        """True if this file must stay."""
        if self.owns_files:
            return file_id in (self.input_file_id, self.output_file_id, self.error_file_id)
        return file_id == self.input_file_id and not self.has_ended

    @property
    def expires_at(self) -> float:
        """Unix time of expiry, by the wall clock at the batch's creation."""
        return self.created_at + self.window_s

    def seconds_left(self, now: float) -> float:
        """Seconds left of the batch's window at `now`, by the clock of `taken_at`; at most the whole window."""
        return min(self.window_s, self.begins_at + self.window_s - now)

    def enter(self, status: BatchStatus) -> None:
        """Enter a status now."""
        self.status = status
        self.times[status] = int(time.time())

    def body(self) -> dict[str, Any]:
        """OpenAI's batch object."""
        return {
            "id": self.batch_id,
            "object": "batch",
            "endpoint": self.endpoint,
            "errors": {"object": "list", "data": msgspec.to_builtins(self.faults)} if self.faults else None,
            "input_file_id": self.input_file_id,
            "completion_window": "24h",
            "status": self.status,
            "output_file_id": self.output_file_id,
            "error_file_id": self.error_file_id,
            "created_at": int(self.created_at),
            "expires_at": int(self.expires_at),
            **{
                f"{status}_at": self.times.get(status)
                for status in (
                    "in_progress",
                    "finalizing",
                    "completed",
                    "failed",
                    "expired",
                    "cancelling",
                    "cancelled",
                )
            },
            "request_counts": {
                "total": self.num_lines,
                "completed": self.num_completed,
                "failed": self.num_failed,
            },
            "metadata": self.metadata,
        }

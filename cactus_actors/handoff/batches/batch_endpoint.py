"""The HTTP client of a cloud's endpoints for files and batches, in the form that OpenAI documents."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import httpx
import msgspec

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.answer_reader import MAX_DETAIL_CHARACTERS, error_detail
from cactus_actors.handoff.cloud_access import check_base_url, is_loopback
from cactus_actors.handoff.cloud_failures import CloudFailure, status_failure
from cactus_actors.handoff.cloud_key import CloudKey, redacted_logs

MAX_RESPONSE_BYTES = 4 * 1024 * 1024
MAX_CONTENT_BYTES = 64 * 1024 * 1024
PAGE_SIZE = 100
MAX_PAGES = 100
CLOCK_SKEW_S = 3600.0
"""A batch may seem to be made this much earlier than its mark: two clocks made the times."""
MARK, OWNER = "cactus_mark", "cactus_owner"
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})

B = TypeVar("B", bound=msgspec.Struct)


class _Counts(msgspec.Struct, frozen=True):
    total: int = 0
    completed: int = 0
    failed: int = 0


class _BatchError(msgspec.Struct, frozen=True):
    message: str | None = None


class _BatchErrors(msgspec.Struct, frozen=True):
    data: list[_BatchError] | None = None


class CloudBatchRecord(msgspec.Struct, frozen=True):
    """A batch as the cloud describes it."""

    id: str
    status: str
    created_at: float = 0.0
    output_file_id: str | None = None
    error_file_id: str | None = None
    request_counts: _Counts | None = None
    metadata: dict[str, Any] | None = None
    errors: _BatchErrors | None = None

    @property
    def has_ended(self) -> bool:
        return self.status in _ENDED

    @property
    def counts(self) -> _Counts:
        return self.request_counts or _Counts()

    @property
    def error(self) -> str:
        """Why the whole batch has failed; empty if it has not."""
        errors = self.errors.data if self.errors is not None else None
        return " ".join(error.message for error in errors or () if error.message)[:MAX_DETAIL_CHARACTERS]

    def is_of(self, mark: str, owner: str) -> bool:
        """True if it was made for that mark, by that owner."""
        metadata = self.metadata or {}
        return (metadata.get(MARK), metadata.get(OWNER)) == (mark, owner)


class _Batches(msgspec.Struct, frozen=True):
    data: list[CloudBatchRecord]
    has_more: bool = False


class _File(msgspec.Struct, frozen=True):
    id: str


class BatchEndpoint:
    """Methods raise CloudFailure; none repeats a request. Close it with `aclose`."""

    def __init__(self, settings: HandoffSettings) -> None:
        url = check_base_url(settings.base_url)
        self._url = settings.base_url.rstrip("/")
        self._total_timeout_s = settings.total_timeout_s
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(settings.read_timeout_s, connect=settings.connect_timeout_s),
            follow_redirects=False,
            trust_env=not is_loopback(url),
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def create(self, mark: str, owner: str, content: bytes, key: CloudKey | None) -> CloudBatchRecord:
        """Upload the questions, and create a batch of them.

        After a failure it is unknown if there is one: `find` tells.
        """
        file = (f"cactus-{mark}.jsonl", content, "application/jsonl")
        uploaded = await self._request("POST", "/files", key, data={"purpose": "batch"}, files={"file": file})
        body = {
            "input_file_id": _decoded(uploaded, _File).id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {MARK: mark, OWNER: owner},
        }
        return _decoded(await self._request("POST", "/batches", key, json=body, mark=mark), CloudBatchRecord)

    async def find(self, mark: str, owner: str, created: float, key: CloudKey | None) -> CloudBatchRecord | None:
        """The batch of a mark that was made at `created`; None if there is none.

        Clouds list the newest batches first.
        """
        after: dict[str, str] = {}
        for _ in range(MAX_PAGES):
            params = {"limit": f"{PAGE_SIZE}", **after}
            page = _decoded(await self._request("GET", "/batches", key, params=params), _Batches)
            for batch in page.data:
                if batch.is_of(mark, owner):
                    return batch
            if not page.has_more or not page.data or page.data[-1].created_at < created - CLOCK_SKEW_S:
                return None
            after = {"after": page.data[-1].id}
        raise CloudFailure("cloud_protocol_error", "the list of batches has no end")

    async def retrieve(self, batch_id: str, key: CloudKey | None) -> CloudBatchRecord | None:
        """The batch of that id; None if there is none."""
        content = await self._request("GET", f"/batches/{_quoted(batch_id)}", key, may_be_missing=True)
        return None if content is None else _decoded(content, CloudBatchRecord)

    async def content(self, file_id: str | None, key: CloudKey | None) -> bytes:
        """The content of a file of answers; nothing if there is no file."""
        if not file_id:
            return b""
        path = f"/files/{_quoted(file_id)}/content"
        return await self._request("GET", path, key, max_bytes=MAX_CONTENT_BYTES) or b""

    async def _request(
        self,
        method: str,
        path: str,
        key: CloudKey | None,
        *,
        max_bytes: int = MAX_RESPONSE_BYTES,
        may_be_missing: bool = False,
        mark: str = "",
        **content: Any,
    ) -> bytes | None:
        """The body of a response with status 200; None for 404 if the resource `may_be_missing`."""
        headers = {"Accept-Encoding": "identity"}
        if mark:
            headers["Idempotency-Key"] = mark
        if key is not None:
            headers["Authorization"] = f"Bearer {key.reveal()}"
        try:
            with redacted_logs(key):
                async with (
                    asyncio.timeout(self._total_timeout_s),
                    self._client.stream(method, self._url + path, headers=headers, **content) as response,
                ):
                    body = await _body(response, max_bytes)
        except (TimeoutError, httpx.TimeoutException):
            raise CloudFailure("cloud_timeout", "the cloud took too long", retriable=True) from None
        except httpx.TransportError as error:
            # the error's own text may quote the request
            name = type(error).__name__
            raise CloudFailure("cloud_connection", f"the connection failed ({name})", retriable=True) from None
        if response.status_code == 200:
            return body
        if response.status_code == 404 and may_be_missing:
            return None
        detail = _detail(body)
        detail = (detail if key is None else key.redact(detail))[:MAX_DETAIL_CHARACTERS]
        raise _failure(response.status_code, detail, response.headers)


def _failure(status: int, detail: str, headers: Mapping[str, str]) -> CloudFailure:
    if status in (404, 405):
        return CloudFailure("cloud_rejected", f"the cloud has no batch endpoint ({status})")
    return status_failure(status, detail, headers.get("retry-after"), headers.get("date"))


async def _body(response: httpx.Response, max_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > max_bytes:
            raise CloudFailure("cloud_protocol_error", f"a response is longer than {max_bytes} bytes")
    return bytes(body)


def _decoded(body: bytes | None, kind: type[B]) -> B:
    try:
        return msgspec.json.decode(body or b"", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise CloudFailure("cloud_protocol_error", "a response is not what OpenAI documents") from None


def _detail(body: bytes) -> str:
    try:
        decoded: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return error_detail(decoded.get("error", decoded) if isinstance(decoded, dict) else decoded)


def _quoted(name: str) -> str:
    """The name as a part of a path; raises CloudFailure for one that no cloud gives."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,200}", name):
        raise CloudFailure("cloud_protocol_error", "an id is not letters, digits, - and _")
    return name

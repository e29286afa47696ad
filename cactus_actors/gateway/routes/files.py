"""/v1/files: inputs and results of batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from litestar import delete, get, post
from litestar.params import FromPath
from litestar.response.base import ASGIResponse

from cactus_actors.gateway.answers.job_responses import json_response
from cactus_actors.gateway.answers.streaming_response import ByteStreamResponse
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.files.upload import Upload
from cactus_actors.gateway.http.identity import tenant_name
from cactus_actors.gateway.http.pagination import page
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.protocol.errors import InvalidRequest

CHUNK_BYTES = 256 * 1024
PURPOSE = "batch"


@post("/v1/files", status_code=200)
async def upload_file(request: HttpRequest) -> ASGIResponse:
    """Store a prompt file: a form with `purpose` batch and `file`."""
    gateway = gateway_of(request)
    tenant = tenant_name(request)
    upload = Upload()
    content = upload.content(request, gateway.settings.max_file_bytes)
    file_id = await gateway.files.receive(content, tenant)
    purpose = upload.fields.get("purpose", "")
    if purpose != PURPOSE:
        gateway.files.discard(file_id)
        given = f", not {purpose[:40]!r}" if purpose else "; the form has none"
        raise InvalidRequest(f"purpose must be {PURPOSE!r}{given}", param="purpose")
    record = gateway.files.keep(file_id, upload.filename or "", purpose, tenant)
    return json_response(gateway.files.body(record))


@get("/v1/files")
async def list_files(request: HttpRequest) -> ASGIResponse:
    """All files, newest first."""
    files = gateway_of(request).files
    purpose = request.query_params.get("purpose")
    listed = [file for file in files.all_of(tenant_name(request)) if purpose in (None, file.purpose)]
    return json_response(page(request, [files.body(file) for file in listed]))


@get("/v1/files/{file_id:str}")
async def get_file(request: HttpRequest, file_id: FromPath[str]) -> ASGIResponse:
    """One file's record."""
    files = gateway_of(request).files
    return json_response(files.body(files.get(file_id, tenant_name(request))))


@get("/v1/files/{file_id:str}/content")
async def get_content(request: HttpRequest, file_id: FromPath[str]) -> ASGIResponse:
    """A file's content."""
    files = gateway_of(request).files
    record = files.get(file_id, tenant_name(request))
    return ByteStreamResponse(_chunks(files.path(record.file_id)), "application/octet-stream")


@delete("/v1/files/{file_id:str}", status_code=200)
async def delete_file(request: HttpRequest, file_id: FromPath[str]) -> ASGIResponse:
    """Remove a file that no batch needs."""
    gateway, tenant = gateway_of(request), tenant_name(request)
    gateway.files.get(file_id, tenant)  # first: another tenant's file must not be revealed
    if gateway.batches.needs(file_id):
        raise InvalidRequest("a batch reads this file, or it belongs to a batch of messages", param="file_id")
    gateway.files.delete(file_id, tenant)
    body: dict[str, Any] = {"id": file_id, "object": "file", "deleted": True}
    return json_response(body)


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk


HANDLERS = [upload_file, list_files, get_file, get_content, delete_file]

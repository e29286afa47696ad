"""A multipart form with one file, parsed as it arrives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from cactus_actors.gateway.files.metadata import check_file_name
from cactus_actors.gateway.http.request_body import HttpRequest, body_chunks
from cactus_actors.protocol.errors import InvalidRequest, PayloadTooLarge, UnsupportedMediaType

MAX_FIELD_BYTES = 4096
MAX_PARTS = 16
FORM_BYTES = 64 * 1024
"""Bytes that a form may have in addition to its file."""


@dataclass
class Upload:
    """`content` yields the file's bytes; after its end `fields` and `filename` are complete."""

    fields: dict[str, str] = field(default_factory=dict)
    filename: str | None = None

    async def content(self, request: HttpRequest, max_file_bytes: int) -> AsyncIterator[bytes]:
        """Raises UnsupportedMediaType, PayloadTooLarge, RequestTimedOut or InvalidRequest."""
        content_type, options = parse_options_header(request.headers.get("content-type", ""))
        if content_type != "multipart/form-data":
            raise UnsupportedMediaType(f"a file must be sent as multipart/form-data, not {content_type[:60]!r}")
        segment: MultipartSegment | None = None
        value = bytearray()
        num_file_bytes = 0
        try:
            with PushMultipartParser(options.get("boundary", ""), max_segment_count=MAX_PARTS) as parser:
                async for chunk in body_chunks(request, max_file_bytes + FORM_BYTES):
                    if not chunk:
                        continue
                    for event in parser.parse(chunk):
                        if isinstance(event, MultipartSegment):
                            segment = self._begun(event)
                            value.clear()
                        elif event is None:
                            self._end(segment, value)
                        elif segment is not None and segment.name == "file":
                            num_file_bytes += len(event)
                            if num_file_bytes > max_file_bytes:
                                raise PayloadTooLarge(f"the file is above {max_file_bytes} bytes", param="file")
                            yield bytes(event)
                        else:
                            value += event
                            if len(value) > MAX_FIELD_BYTES:
                                name = segment.name[:64] if segment is not None and segment.name else None
                                raise InvalidRequest(
                                    f"a field of the form is above {MAX_FIELD_BYTES} bytes", param=name
                                )
        except MultipartError as error:
            raise InvalidRequest(f"the form is not multipart/form-data: {error.args[0]}") from None
        if self.filename is None:
            raise InvalidRequest("file is required", param="file")

    def _begun(self, segment: MultipartSegment) -> MultipartSegment:
        if segment.name == "file":
            if self.filename is not None:
                raise InvalidRequest("the form holds two files", param="file")
            check_file_name(segment.filename or "")
            self.filename = segment.filename or "file"
        return segment

    def _end(self, segment: MultipartSegment | None, value: bytearray) -> None:
        if segment is not None and segment.name and segment.name != "file":
            self.fields[segment.name] = value.decode(errors="replace")

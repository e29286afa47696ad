"""The lines that a run left, read again from its input, as the jobs of the first pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cactus_actors.api.openai import BodyRequest
from cactus_actors.batch.batch_request import BatchRequest
from cactus_actors.batch.left_lines import LeftLine
from cactus_actors.batch.line_jobs import in_background
from cactus_actors.batch.line_source import LineReader
from cactus_actors.batch.prompt_file import Format
from cactus_actors.batch.prompt_lines import PromptLine, decode_line, request_of_line


def wanted_lines(
    file: LineReader, form: Format, lines: Mapping[str, LeftLine]
) -> Iterator[tuple[PromptLine, LeftLine]]:
    """These lines, in the order of the input."""
    for raw in file.lines():
        line = decode_line(raw, form)
        if (left := lines.get(line.custom_id)) is not None:
            yield line, left


def first_job(request: BatchRequest, line: PromptLine, left: LeftLine) -> BodyRequest:
    """The job of the first pass, with its id and its seed; raises InvalidRequest."""
    return request_of_line(
        line,
        lambda *_: left.job_id,
        in_background(request.options),
        None,
        as_chat=line.is_plain and left.is_chat,
        system=request.system,
        model=request.model,
        pictures=request.pictures,
    )

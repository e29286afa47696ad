"""Resumes a finished output: checks that it belongs to this run, and returns its final progress."""

from __future__ import annotations

import time
from pathlib import Path

from cactus_actors.batch.batch_errors import OutputRefused, naming_file
from cactus_actors.batch.batch_journal import BatchRun
from cactus_actors.batch.batch_request import BatchProgress, BatchRequest
from cactus_actors.batch.custom_id_set import CustomIdSet, custom_id_hash
from cactus_actors.batch.prompt_file import Format
from cactus_actors.batch.prompt_lines import decode_line
from cactus_actors.batch.result_file import result_lines


def finished_before(request: BatchRequest, form: Format, wanted: BatchRun, made_by: BatchRun | None) -> BatchProgress:
    """The progress of a run without remaining lines.

    `made_by` is the run that the journal names. Raises InputChanged if that is not `wanted`, and OutputRefused unless
    the output holds every input line, which is not certain without a journal.
    """
    paths = request.paths
    if not (request.resume or request.retry_failed or request.second_pass):
        raise OutputRefused(f"{paths.output}: exists already; --overwrite replaces it")
    if made_by is not None:
        made_by.check_same(wanted, paths)
    keys = [_keys_in(path) for path in (paths.output, paths.errors)]
    with request.open_source() as file:
        for raw in file.lines():
            key = custom_id_hash(decode_line(raw, form).custom_id)
            if not any(key in known for known in keys):
                raise OutputRefused(
                    f"{paths.output}: is finished and has no line {raw.number} of {request.source}; "
                    "--overwrite replaces it"
                )
    return BatchProgress(
        num_lines=wanted.num_lines,
        num_succeeded=len(keys[0]),
        num_failed=len(keys[1]),
        num_resumed=wanted.num_lines,
        completion_tokens=0,
        started=time.monotonic(),
    )


def _keys_in(path: Path) -> CustomIdSet:
    keys = CustomIdSet()
    with naming_file(path, OutputRefused):
        if path.exists():
            with path.open("rb") as results:
                for line in result_lines(results):
                    keys.add(line.key)
    return keys

"""The results of a part with failed rows, from which it is written again when these have been answered."""

from __future__ import annotations

import msgspec

from cactus_actors.batch import BatchPaths
from cactus_actors.batch.batch_errors import OutputRefused, naming_file
from cactus_actors.data.parts.manifest import PartId
from cactus_actors.data.parts.part_store import OWN, PartStore


class _Results(msgspec.Struct, frozen=True):
    """The result files of a finished run, and its journal."""

    output: bytes
    errors: bytes
    journal: bytes


def keep_results(store: PartStore, part: PartId, paths: BatchPaths) -> None:
    """Store the results of a part; raises OutputFailed."""
    with naming_file(paths.output):
        results = _Results(paths.output.read_bytes(), paths.errors.read_bytes(), paths.journal.read_bytes())
    store.write(_name(part), msgspec.msgpack.encode(results))


def restore_results(store: PartStore, part: PartId, paths: BatchPaths) -> None:
    """Make the result files of a part again, unless an interrupted run has left them.

    Raises OutputFailed, and OutputRefused if they are not in the store.
    """
    if paths.journal.exists():
        return
    content = store.read(_name(part))
    try:
        results = msgspec.msgpack.decode(content or b"", type=_Results)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise OutputRefused(
            f"{part}: the results of its rows are not there, so that failed ones cannot be run alone; "
            "remove the part, and all its rows are run again with --resume"
        ) from None
    with naming_file(paths.output):
        paths.output.write_bytes(results.output)
        paths.errors.write_bytes(results.errors)
        paths.journal.write_bytes(results.journal)


def forget_results(store: PartStore, part: PartId) -> None:
    """Remove the results of a part; raises OutputFailed."""
    store.remove([_name(part)])


def _name(part: PartId) -> str:
    return f"{OWN}/{part}.results"

"""SQLite compared with an append-only log, for commits of the journal's own entries.

python -m benchmarks.journal_stores

Both stores take the life of each job (accepted, ended, forgotten after a while) in groups that share one
fsync, and take turns. `mib` is what lies on disk in the end: the log would have to be compacted besides, and
be read from its beginning, or indexed, to find one result.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.protocol.messages import Accepted, Finished, Submit
from cactus_actors.protocol.results import Result
from cactus_actors.router.journal.job_journal import JobJournal
from cactus_actors.router.journal.record_encoding import encoded
from cactus_actors.router.state.journal_records import (
    AcceptedEntry,
    EndedRecord,
    Entry,
    Forget,
    WriteAccepted,
    WriteEnded,
)

RUNNING = 10
KEPT = 1000
"""Number of later jobs after which a job ends, and after which it is forgotten."""
PROMPT = "Tell me a story about a fox and a crow who share one piece of cheese. " * 4
Commit = Callable[[Sequence[Entry]], None]
Store = Callable[[Path], AbstractContextManager[Commit]]


@contextmanager
def sqlite_store(directory: Path) -> Iterator[Commit]:
    """The journal as the router uses it; a commit waits for its writer thread."""
    journal = JobJournal(directory)
    written = threading.Semaphore(0)

    def on_written(job_ids: Sequence[str]) -> None:
        written.release(len(job_ids))

    def commit(entries: Sequence[Entry]) -> None:
        with journal._wake:  # together, like the messages of one turn of the router's loop
            journal._entries += entries
            journal._wake.notify()
        for entry in entries:
            if isinstance(entry, WriteAccepted):
                written.acquire()

    def on_failed(_: Sequence[str], reason: str) -> None:
        print(reason)
        os._exit(1)

    journal.start(on_written, on_failed)
    try:
        yield commit
    finally:
        journal.close()


@contextmanager
def append_store(directory: Path) -> Iterator[Commit]:
    """Records of length, body and CRC-32, one write and one fdatasync for each group."""
    with (directory / "log").open("ab", buffering=0) as log:

        def commit(entries: Sequence[Entry]) -> None:
            log.write(b"".join(map(framed, entries)))
            os.fdatasync(log.fileno())

        yield commit


def framed(entry: Entry) -> bytes:
    """The frame of a record; `encoded` ends with its checksum."""
    match entry:
        case WriteAccepted(name, record) | WriteEnded(name, record):
            body = name.encode() + encoded(record)
        case Forget(name):
            body = name.encode()
        case _:
            body = b""
    return len(body).to_bytes(4, "big") + body


def life(number: int) -> list[Entry]:
    """The entries of one turn: a job is accepted, another one ends and an old one is forgotten."""
    entries: list[Entry] = [WriteAccepted(job_id(number), accepted(number))]
    if number >= RUNNING:
        entries.append(WriteEnded(job_id(number - RUNNING), ended(number - RUNNING)))
    if number >= KEPT:
        entries.append(Forget(job_id(number - KEPT)))
    return entries


def job_id(number: int) -> str:
    """A job id; ids are in no order, as those that clients make."""
    return hashlib.blake2s(number.to_bytes(8, "big"), digest_size=16).hexdigest()


def accepted(number: int) -> AcceptedEntry:
    submit = Submit(job_id=job_id(number), prompt=PROMPT)
    reply = Accepted(job_id=submit.job_id, epoch=1, prompt_tokens=80, seed=number)
    return AcceptedEntry(msgspec.Raw(msgspec.msgpack.encode(submit)), bytes(16), reply, "m", time.time())


def ended(number: int) -> EndedRecord:
    token_ids, texts = list(range(100)), [" word"] * 100
    result = Result(text="".join(texts), token_ids=token_ids)
    finished = Finished(job_id=job_id(number), length=100, result=result)
    return EndedRecord(finished, "finished", token_ids, texts, "", time.time())


def measure(store: Store, directory: Path, num_jobs: int, group: int) -> dict[str, Any]:
    lives = [life(number) for number in range(num_jobs)]
    waits = []
    with store(directory) as commit:
        began = time.perf_counter()
        for first in range(0, num_jobs, group):
            started = time.perf_counter()
            commit([entry for entries in lives[first : first + group] for entry in entries])
            waits.append(1000 * (time.perf_counter() - started))
        seconds = time.perf_counter() - began
        size = sum(path.stat().st_size for path in directory.iterdir())
    return {
        "store": store.__name__,
        "group": group,
        "jobs_per_second": round(num_jobs / seconds),
        "commit_ms_p50": round(statistics.median(waits), 3),
        "commit_ms_p99": round(sorted(waits)[int(len(waits) * 0.99)], 3),
        "mib": round(size / 2**20, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", type=Path, help="a directory on the disk to measure; default: a temporary one")
    arguments = parser.parse_args()
    for group in arguments.groups:
        for _ in range(arguments.rounds):
            for store in (sqlite_store, append_store):
                directory = Path(tempfile.mkdtemp(dir=arguments.dir))
                try:
                    print(json.dumps(measure(store, directory, arguments.jobs, group)), flush=True)
                finally:
                    shutil.rmtree(directory)


if __name__ == "__main__":
    main()

"""`cactus status` and `cactus scale`: their output at several widths, and while workers start and stop."""

from __future__ import annotations

import io
import itertools
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest
import typer.testing
from rich.console import Console

from cactus_actors.cli.status_page import facts_of, status_page, workers_summary
from cactus_actors.protocol.errors import Unavailable
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.scaling_status import ScalingStatus
from tests.support.router.scripted_router import ScriptedRouter, until
from tests.support.router.two_models import of_two_models
from tests.support.router.worker_statuses import worker_named

HEADINGS = "worker kind node pid weights kernels state running slots blocks tokens cached drafts seen"


def page(status: Status, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(status_page(status))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_output_for_scripts_has_one_row_per_worker(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    status = router.status
    router.status = lambda request_id: msgspec.structs.replace(  # type: ignore[method-assign]
        status(request_id), workers=[worker_named("a-worker-with-a-long-name")]
    )
    lines = cactus("status").stdout.splitlines()
    assert lines == [line.rstrip() for line in lines]
    heading, row = lines[-2:]
    assert " ".join(heading.split()) == HEADINGS
    assert row.split()[:2] == ["a-worker-with-a-long-name", "local"]
    told = "4194304 int8 avx512-vnni x2 ready 13 3/16 100/2048 123456 7 (25%) 0 0.2 s"
    assert row.split()[3:] == told.split()


@pytest.mark.parametrize(
    ("scaling", "shown"),
    [
        (ScalingStatus(min_workers=0, max_workers=1), "0 to 1 worker by load"),
        (
            ScalingStatus(min_workers=1, max_workers=16, reason="waiting jobs: 9"),
            "1 to 16 workers by load; last change: waiting jobs: 9",
        ),
        (
            ScalingStatus(min_workers=1, max_workers=16, reason="waiting jobs: 9", is_fixed=True),
            "1 to 16 workers, set by an operator (`cactus scale auto` lets the load decide)",
        ),
    ],
)
def test_a_range_of_workers_is_shown_with_the_reason_of_its_last_change(
    router: ScriptedRouter, scaling: ScalingStatus, shown: str
) -> None:
    assert dict(facts_of(msgspec.structs.replace(router.status(""), scaling=scaling)))["scaling"] == shown
    assert "scaling" not in dict(facts_of(router.status("")))


def test_a_narrow_terminal_shows_the_same_in_two_tables(router: ScriptedRouter) -> None:
    workers = [worker_named("worker-10", "vm"), worker_named("worker-2", "vm")]
    status = msgspec.structs.replace(router.status(""), workers=workers, refused={"handshake": 2})
    narrow, wide = page(status, 80), page(status, 200)
    assert max(map(len, narrow)) <= 80
    first, second = (line for line in narrow if line.startswith("worker "))
    assert sorted({*first.split(), *second.split()}) == sorted(HEADINGS.split())
    for words in (
        "worker-2 ready 13 3/16 100/2048 123456 0.2 s",
        "worker-2 local vm 4194304 int8 avx512-vnni x2",
    ):
        [row] = (line for line in narrow if " ".join(line.split()).startswith(words))
        assert "…" not in row
    assert len([line for line in wide if line.startswith("worker ")]) == 1
    assert narrow[: len(wide) - 3] == wide[: len(wide) - 3]  # the lines above the tables


def test_long_names_are_wrapped(router: ScriptedRouter) -> None:
    worker = worker_named("a-worker-with-a-long-name")
    lines = page(msgspec.structs.replace(router.status(""), workers=[worker]), 80)
    assert max(map(len, lines)) <= 80
    assert "…" not in "".join(lines)
    assert "4194304" in "".join(lines)


@pytest.mark.parametrize(
    ("num_running", "num_desired", "told"),
    [
        (0, 0, "no worker"),
        (1, 1, "1 worker"),
        (2, 2, "2 workers"),
        (0, 1, "0 of 1 worker, 1 to come"),
        (1, 3, "1 of 3 workers, 2 to come"),
        (3, 1, "3 workers, 2 to go"),
    ],
)
def test_workers_are_counted(num_running: int, num_desired: int, told: str) -> None:
    assert workers_summary(num_running, num_desired) == told


def test_scale_waits_for_the_workers_and_reports_each(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    status, looks = router.status, itertools.count()

    def growing(request_id: str) -> Status:
        workers = [worker_named(f"worker-{number}") for number in range(min(2, next(looks)))]
        return msgspec.structs.replace(status(request_id), workers=workers, desired_workers=2)

    router.status = growing  # type: ignore[method-assign]
    assert cactus("scale", "2", "--wait").stdout.splitlines() == [
        "2 workers desired: 0 of 2 workers, 2 to come",
        "1 of 2 workers, 1 to come",
        "2 workers",
    ]
    assert cactus("scale", "2").stdout == "2 workers desired, and running\n"
    with pytest.raises(Unavailable, match="another client has set 2 workers"):
        cactus("scale", "3", "--wait")


def test_an_interrupted_watch_does_not_repeat_its_output(router: ScriptedRouter) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cactus_actors.cli", "status", "--watch", "--interval", "0.1"]
    process = subprocess.Popen(
        [*command, "--endpoint", router.endpoint],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    os.close(theirs)
    told = bytearray()

    def read() -> bool:
        """Read the available output; False at the end."""
        try:
            told.extend(os.read(ours, 65536))
        except OSError:  # all of it was read, and its writer has ended
            return False
        return True

    def shows_rates() -> bool:
        if select.select([ours], [], [], 0.2)[0]:
            read()
        return b"a second" in told

    try:
        until(shows_rates)
        process.send_signal(signal.SIGINT)
        while read():
            pass
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    _, ended, after = bytes(told).rpartition(b"\x1b[?1049l")  # back to the previous screen
    assert ended
    assert b"serving" not in after


@pytest.mark.parametrize(
    ("num_states", "told"),
    [
        (0, "2048 blocks of 192.0 KiB a worker, 384.0 MiB"),
        (48, "2048 blocks of 192.0 KiB and 48 recurrent states of 19.3 MiB a worker, 1.3 GiB"),
    ],
)
def test_the_memory_of_the_caches_is_shown_once(router: ScriptedRouter, num_states: int, told: str) -> None:
    worker = msgspec.structs.replace(
        worker_named("a"), block_bytes=192 * 1024, num_states=num_states, state_bytes=20_200_000 if num_states else 0
    )
    workers = [worker, msgspec.structs.replace(worker, worker_id="b"), worker_named("old")]
    status = msgspec.structs.replace(router.status(""), workers=workers)
    assert [fact for label, fact in facts_of(status) if label == "cache"] == [told]
    small, large = (msgspec.structs.replace(worker, model=name) for name in ("small", "large"))
    several = msgspec.structs.replace(of_two_models(status), workers=[small, small, large])
    assert [fact for label, fact in facts_of(several) if label == "cache"] == [f"small: {told}", f"large: {told}"]


def test_a_cloud_worker_that_takes_no_jobs_has_the_reason_as_its_state(router: ScriptedRouter) -> None:
    cloud = msgspec.structs.replace(worker_named("cloud"), kind="cloud", unavailable="no key")
    told = page(msgspec.structs.replace(router.status(""), workers=[cloud]), 300)[-1]
    assert " no key " in told
    assert " ready " not in told


def test_pictures_are_counted_over_all_workers_where_there_are_some(router: ScriptedRouter) -> None:
    plain = worker_named("a")
    seeing = msgspec.structs.replace(plain, encoded_pictures=5, cached_pictures=2)
    for workers, told in (([plain], []), ([plain, seeing, seeing], ["10 encoded, 4 found encoded"])):
        status = msgspec.structs.replace(router.status(""), workers=workers)
        assert [fact for label, fact in facts_of(status) if label == "pictures"] == told

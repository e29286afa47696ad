"""`cactus batch` on full and failing disks, and with files that it has no permission for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.router.scripted_router import ScriptedRouter

NUM_LINES = 400


@pytest.fixture
def router() -> Iterator[ScriptedRouter]:
    with ScriptedRouter(num_tokens=40, step_s=0.0) as router:
        yield router


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(json.dumps(f"prompt {number}") for number in range(NUM_LINES)))
    return path


@pytest.fixture
def batch(router: ScriptedRouter, prompts: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def batch(output: Path, *prefix: str, source: Path = prompts) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "cactus_actors.cli.main", "batch", str(source), "-o", str(output)]
        command += ["--resume", "--endpoint", router.endpoint, "--stream-endpoint", router.stream_endpoint]
        return subprocess.run([*prefix, *command], capture_output=True, text=True, timeout=120)

    return batch


def grow(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)


def ids_of_whole_lines(path: Path) -> list[str]:
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line)["custom_id"] for line in lines if line.endswith(b"\n")]


@pytest.mark.parametrize("kilobytes", [0, 4, 12, 64, 200])
def test_a_full_disk_ends_the_run_and_it_resumes_with_free_space(
    batch: Callable[..., subprocess.CompletedProcess[str]], small_disk: Callable[[int], Path], kilobytes: int
) -> None:
    """There is no room for the journal, for the files, or for all results."""
    disk = small_disk(max(4, kilobytes))
    output = disk / "out.jsonl"
    if not kilobytes:
        (disk / "full").write_bytes(bytes(4096))
    full = batch(output)
    assert full.returncode == 74, full.stderr
    assert re.search(rf"error: {disk}/out\..*: No space left on device after \d+ bytes", full.stderr)
    done = ids_of_whole_lines(disk / "out.jsonl.partial")
    assert not output.exists()
    grow(disk)
    rest = batch(output)
    assert rest.returncode == 0, rest.stderr
    ids = ids_of_whole_lines(output)
    assert sorted(ids) == sorted(f"line-{number + 1}" for number in range(NUM_LINES))
    assert ids[: len(done)] == done


@pytest.mark.parametrize(
    "fault",
    [
        "fsync:error=EIO:when=1",
        "fsync:error=EIO:when=2+",
        "fsync:error=EIO:when=5+",
        "pwrite64:error=EIO:when=1+",
        "pwrite64:error=EIO:when=100+",
        "pwrite64:error=ENOSPC:when=300",
        "ftruncate:error=EIO:when=2+",
        "rename,renameat,renameat2:error=EIO:when=1+",
    ],
)
def test_a_failing_disk_ends_the_run_and_the_next_run_resumes(
    batch: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    need: Callable[[str], None],
    fault: str,
) -> None:
    need("strace")
    output = tmp_path / "results" / "out.jsonl"
    output.parent.mkdir()
    calls = fault.partition(":")[0]
    trace = ["strace", "-f", "-q", "-o", str(tmp_path / "trace"), "-P", str(output.parent)]
    for name in ("out.jsonl", "out.errors.jsonl"):
        trace += ["-P", str(output.parent / f"{name}.partial"), "-P", str(output.parent / f"{name}.journal")]
    failed = batch(output, *trace, "-e", f"trace={calls}", "-e", f"inject={fault}")
    assert failed.returncode == 74, failed.stderr
    assert re.search(rf"error: {output.parent}/out\.\S+: (Input/output error|No space left)", failed.stderr)
    assert "Traceback" not in failed.stderr
    rest = batch(output)
    assert rest.returncode == 0, rest.stderr
    ids = ids_of_whole_lines(output)
    assert sorted(ids) == sorted(f"line-{number + 1}" for number in range(NUM_LINES))


def test_unreadable_inputs_and_unwritable_outputs_are_refused(
    batch: Callable[..., subprocess.CompletedProcess[str]],
    router: ScriptedRouter,
    tmp_path: Path,
    prompts: Path,
    need: Callable[[str], None],
) -> None:
    need("setpriv")
    # root gets no exception: the mode of the files that it owns applies to it too
    powerless = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    prompts.chmod(0)
    unreadable = batch(tmp_path / "out.jsonl", *powerless)
    assert unreadable.returncode == 66, unreadable.stderr
    assert f"{prompts}: Permission denied" in unreadable.stderr
    prompts.chmod(0o644)
    results = tmp_path / "results"
    results.mkdir(mode=0o500)
    unwritable = batch(results / "out.jsonl", *powerless)
    assert unwritable.returncode == 2, unwritable.stderr
    assert f"{results}/out.jsonl.journal: Permission denied" in unwritable.stderr
    assert not router.jobs_run
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["prompts.jsonl", "results"]

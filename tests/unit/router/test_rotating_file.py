"""A file of lines: complete lines only, with any fault of the disk and the path, and with other writers."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time
from pathlib import Path

import pytest

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.telemetry.rotating_file import RotatingFile


def line(number: int) -> bytes:
    return f"{number:06}{'x' * 93}\n".encode()


def test_a_file_is_rotated_at_its_size_and_the_oldest_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "jobs.jsonl"
    file = RotatingFile(path, max_bytes=1000, num_kept=2)
    for number in range(35):
        file.append(line(number))
    file.close()
    names = sorted(found.name for found in path.parent.iterdir())
    assert names == ["jobs.jsonl", "jobs.jsonl.1", "jobs.jsonl.2"]
    newest_first = [path, path.with_name("jobs.jsonl.1"), path.with_name("jobs.jsonl.2")]
    first_lines = [found.read_bytes()[:6] for found in newest_first]
    assert first_lines == [b"000030", b"000020", b"000010"]
    assert {found.stat().st_mode & 0o777 for found in newest_first} == {0o600}


def test_a_file_is_rotated_at_its_age_and_removed_at_the_same_age(tmp_path: Path) -> None:
    now = time.time()
    path = tmp_path / "jobs.jsonl"

    def opened() -> RotatingFile:
        return RotatingFile(path, max_age_s=100.0, time_of=lambda line: float(line) if line else None, now=lambda: now)

    def append(file: RotatingFile) -> None:
        file.append(f"{now}\n".encode())
        os.utime(path, (now, now))  # the clock of the test is the file's, too

    begun_at, file = now, opened()
    append(file)
    now = begun_at + 99
    append(file)
    assert not path.with_name("jobs.jsonl.1").exists()
    file.close()
    file = opened()  # the age is that of the first line of any writer
    now = begun_at + 100
    append(file)
    assert len(path.with_name("jobs.jsonl.1").read_bytes().splitlines()) == 2
    now = begun_at + 198
    file.close()
    file = opened()
    assert path.with_name("jobs.jsonl.1").exists()
    now = begun_at + 199
    file.close()
    opened().close()
    assert not path.with_name("jobs.jsonl.1").exists()
    assert path.read_bytes() == f"{begun_at + 100}\n".encode()


def test_a_moved_or_deleted_file_is_created_again(tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"
    file = RotatingFile(path)
    file.append(line(1))
    path.rename(tmp_path / "moved")
    file.append(line(2))
    path.unlink()
    file.append(line(3))
    file.close()
    assert (tmp_path / "moved").read_bytes() == line(1)
    assert path.read_bytes() == line(3)


def test_several_writers_of_one_path_lose_and_tear_no_line(tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"

    def write(first: int) -> None:
        file = RotatingFile(path, max_bytes=2000, num_kept=60)
        for number in range(first, first + 300):
            file.append(line(number))
        file.close()

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 300, 600)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = [each for found in tmp_path.iterdir() for each in found.read_bytes().splitlines(keepends=True)]
    assert sorted(written) == [line(number) for number in range(900)]


def test_a_line_that_does_not_fit_on_the_disk_leaves_no_part(tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"
    file = RotatingFile(path)
    file.append(line(1))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(line(1)) + 40, limits[1]))  # the kernel accepts 40 bytes
    try:
        with pytest.raises(OSError, match="File too large"):
            file.append(line(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    file.append(line(3))
    file.close()
    assert path.read_bytes() == line(1) + line(3)


def test_a_pipe_gets_only_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    file = RotatingFile(path)
    num_written = 0
    with contextlib.suppress(BlockingIOError):
        for num_written in range(10_000):
            file.append(line(num_written))
    assert 100 < num_written < 9_999
    content = os.read(reader, 1 << 20)
    file.append(line(7))
    content += os.read(reader, 1 << 20)
    assert content == b"".join(map(line, range(num_written))) + line(7)
    file.close()
    os.close(reader)


def test_an_unusable_path_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "jobs.jsonl", tmp_path / ("x" * 300)):
        with pytest.raises(ConfigurationInvalid, match=str(path)):
            RotatingFile(path)

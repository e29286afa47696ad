"""Missing and read-only directories: the service names them at once and leaves no process running."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

EXIT_USAGE = 2
READ_ONLY_TMP = "mount --bind /tmp /tmp; mount -o remount,ro,bind /tmp"
READ_ONLY_SHARED_MEMORY = "mount -t tmpfs -o ro tmpfs /dev/shm"
NO_SHARED_MEMORY = """
mount -t tmpfs tmpfs /mnt
for device in null zero random urandom; do touch /mnt/$device; mount --bind /dev/$device /mnt/$device; done
mount --rbind /mnt /dev
"""


@pytest.mark.parametrize(
    ("mounts", "path"),
    [(READ_ONLY_TMP, "/tmp"), (READ_ONLY_SHARED_MEMORY, "/dev/shm"), (NO_SHARED_MEMORY, "/dev/shm")],
    ids=["read-only tmp", "read-only shared memory", "no shared memory"],
)
def test_an_error_names_the_unsuitable_directory_of_ray(need: Callable[[str], None], mounts: str, path: str) -> None:
    need("unshare")
    serve = [sys.executable, "-m", "cactus_actors.cli.main", "serve", "--placement", "ray"]
    serve += ["--no-journal", "--no-http"]
    serve += ["--jobs-endpoint", "tcp://127.0.0.1:*", "--stream-endpoint", "tcp://127.0.0.1:*"]
    script = f'set -e\nmount -t tmpfs tmpfs /opt\n{mounts}\nexec "$@" --state-dir /opt'
    started = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", *serve],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert started.returncode == EXIT_USAGE, started.stderr
    (line,) = (line for line in started.stderr.splitlines() if line.startswith("error: "))
    assert f" {path}:" in line

"""Another user of this machine can neither replace a file of a service nor move its sockets."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cactus_actors.client import AsyncClient
from tests.support.processes.open_sockets import socket_files_of
from tests.support.processes.serve_command import Serving, below, ray_directories, serving

NOBODY = 65534
ATTACK = """
import os, sys
user, target, *paths = sys.argv[1:]
os.setgroups([])
os.setgid(int(user))
os.setuid(int(user))
for path in paths:
    for attack in (
        lambda: os.rename(path, path + ".moved"),
        lambda: os.unlink(path),
        lambda: os.symlink(target, path + ".link"),
        lambda: os.rename(os.path.dirname(path), os.path.dirname(path) + ".moved"),
        lambda: open(path, "ab"),
    ):
        try:
            attack()
        except (PermissionError, IsADirectoryError):
            continue
        except OSError as error:
            print(path, error)
            continue
        print(path, "was changed")
"""
SECRET = "a line that only root may read\n"


@pytest.fixture
def entered() -> Iterator[Path]:
    """A directory that every user can enter, in contrast to pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="cactus-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def everything_of(service: Serving, state_dir: Path) -> list[str]:
    """The sockets of the service, and every file that it has open for writing or owns."""
    pids = {service.process.pid, *below(service.process.pid)}
    found = {str(path) for path in socket_files_of(pids)}
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                path = link.readlink()
            except OSError:
                continue
            if path.is_file() and not str(path).startswith(("/dev", "/proc", "/sys")):
                found.add(str(path))
    for directory in (state_dir, *ray_directories(service)):
        found |= {str(path) for path in directory.rglob("*")}
    return sorted(found)


def attack(target: Path, paths: list[str]) -> str:
    """The successes of another user in attacking these paths."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ATTACK, str(NOBODY), str(target), *paths],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("placement", ["local", "ray"])
async def test_another_user_cannot_change_a_running_service(entered: Path, placement: str) -> None:
    secret = entered / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    state_dir = entered / "state"
    with serving(entered, "--placement", placement) as service:
        paths = everything_of(service, state_dir)
        kinds = {Path(path).name for path in paths}
        assert ("plasma_store" in kinds and "raylet.out" in kinds) == (placement == "ray")
        assert attack(secret, paths) == ""
        async with AsyncClient(service.jobs, service.stream, timeout=60.0) as client:
            await client.complete("hello", max_tokens=4)
        assert secret.read_text() == SECRET
        assert [path for path in paths if path.endswith((".moved", ".link"))] == []


def test_the_attack_succeeds_on_unprotected_paths(entered: Path) -> None:
    """The attack succeeds where every user may write; the test above would fail there."""
    open_to_all = entered / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    log = open_to_all / "raylet.out"
    log.touch()
    achieved = attack(entered / "secret", [str(log)])
    assert f"{log} was changed" in achieved
    assert Path(f"{log}.link").readlink() == entered / "secret"

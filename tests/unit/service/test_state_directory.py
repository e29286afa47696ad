"""The state directory: used by one service at a time, after any end of that one, and closed to other users."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cactus_actors.process.wall_clock import unix_offset
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.service.state_directory import LOCK, StateDirectory

HOLDER = """
import sys
from pathlib import Path
from cactus_actors.service.state_directory import StateDirectory
state = StateDirectory(Path(sys.argv[1]), "tcp://127.0.0.1:5555", lambda _: None)
print("held", flush=True)
sys.stdin.read()
"""


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def opened(directory: Path) -> list[str]:
    """The messages while the directory is taken and released."""
    lines: list[str] = []
    StateDirectory(directory, "tcp://127.0.0.1:1", lines.append).close()
    return lines


def test_a_second_service_is_refused_until_the_owner_ends(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            with pytest.raises(ConfigurationInvalid) as refused:
                StateDirectory(tmp_path, "tcp://127.0.0.1:1", print, wait_s=0.0)
            assert f"{tmp_path} is in use by another service" in refused.value.message
            assert f"process {holder.pid} at tcp://127.0.0.1:5555" in refused.value.message
            assert refused.value.param == "state_dir"
        finally:
            holder.send_signal(signal.SIGKILL)
    assert (tmp_path / LOCK).exists()  # files that it left cause no confusion
    assert opened(tmp_path) == []


def test_the_start_waits_for_an_ending_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = StateDirectory(tmp_path, "tcp://127.0.0.1:1", lambda _: None)
    monkeypatch.setattr("cactus_actors.service.state_directory.time.sleep", lambda _: first.close())
    assert opened(tmp_path) == []


def test_the_lock_file_names_the_final_endpoint(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path, "tcp://127.0.0.1:*" + "0" * 40, lambda _: None)
    state.name("tcp://127.0.0.1:7")
    assert (tmp_path / LOCK).read_text() == f"process {os.getpid()} at tcp://127.0.0.1:7\n"
    state.close()
    state.close()


def test_a_new_directory_is_private(tmp_path: Path) -> None:
    assert opened(tmp_path / "a" / "b") == []
    assert [mode_of(tmp_path / name) for name in ("a", "a/b")] == [0o700, 0o700]
    assert mode_of(tmp_path / "a" / "b" / LOCK) == 0o600


def test_permissions_of_an_existing_directory_are_restricted(tmp_path: Path) -> None:
    for name in ("journal", "run", "jobs.jsonl.1"):
        (tmp_path / name).mkdir()
    unix_offset(tmp_path)  # the record of spending is stored in this way
    tmp_path.chmod(0o755)
    (line,) = opened(tmp_path)
    assert "0755" in line
    assert "0700 now" in line
    assert mode_of(tmp_path) == 0o700
    assert opened(tmp_path) == []


def test_a_directory_with_other_files_is_left_unchanged(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    tmp_path.chmod(0o755)
    (line,) = opened(tmp_path)
    assert "is not changed" in line
    assert mode_of(tmp_path) == 0o755


def test_a_path_that_cannot_be_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationInvalid, match=rf"state directory {tmp_path}/file cannot be used: .*--state"):
        opened(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
@pytest.mark.parametrize("name", [".", "journal", "keys", "service.lock"])
def test_a_directory_of_another_user_is_refused(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "state"
    directory.mkdir()
    path = directory / name
    if name == "service.lock":
        path.touch()
    else:
        path.mkdir(exist_ok=True)
    os.chown(path, 12345, 12345)
    with pytest.raises(ConfigurationInvalid, match=r"belongs to another user \(uid 12345\)") as refused:
        opened(directory)
    assert refused.value.param == "state_dir"


@pytest.mark.parametrize("name", ["journal", "keys", "http", "service.lock"])
def test_a_symbolic_link_in_the_directory_is_refused(tmp_path: Path, name: str) -> None:
    directory, elsewhere = tmp_path / "state", tmp_path / "elsewhere"
    directory.mkdir()
    elsewhere.mkdir()
    (directory / name).symlink_to(elsewhere)
    with pytest.raises(ConfigurationInvalid, match="is a symbolic link"):
        opened(directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a link away")
def test_a_link_to_the_directory_must_belong_to_this_user(tmp_path: Path) -> None:
    directory, link = tmp_path / "state", tmp_path / "link"
    directory.mkdir()
    link.symlink_to(directory)
    opened(link)
    os.lchown(link, 12345, 12345)
    with pytest.raises(ConfigurationInvalid, match="belongs to another user"):
        opened(link)

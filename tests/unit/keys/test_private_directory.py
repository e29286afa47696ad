"""A directory that others can change, or replace, is refused by name."""

from __future__ import annotations

import grp
import os
import pwd
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from cactus_actors.gateway.files.record_files import RecordFiles
from cactus_actors.keys.directory_checks import check_parents, check_private, is_own_group
from cactus_actors.keys.key_store import KeyStore, keys_dir
from cactus_actors.placement.local.run_directory import RunDirectory
from cactus_actors.placement.ray.ray_output import RayOutput
from cactus_actors.process.private_directories import make_private
from cactus_actors.process.wall_clock import unix_offset
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.journal.database import locked
from cactus_actors.router.telemetry.rotating_file import RotatingFile


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o500])
def test_a_directory_that_only_this_user_can_change_is_private(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    check_private(tmp_path)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_directory_that_others_can_write_is_not_private(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(ConfigurationInvalid, match=rf"others can write in {tmp_path} \(mode {mode:04o}\)"):
        check_private(tmp_path)


@pytest.mark.parametrize(
    ("group_name", "members", "is_own"),
    [("ada", [], True), ("ada", ["ada"], True), ("ada", ["ada", "bob"], False), ("users", [], False)],
)
def test_a_group_of_this_user_alone_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group_name: str, members: list[str], is_own: bool
) -> None:
    """This is the mode of files with the umask of many systems, 0002."""
    gid = tmp_path.stat().st_gid or 1000
    monkeypatch.setattr(pwd, "getpwuid", lambda _: SimpleNamespace(pw_name="ada"))
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_name=group_name, gr_mem=members))
    assert is_own_group(gid) == is_own
    assert not is_own_group(0)


def test_a_directory_that_others_can_rename_is_not_private(tmp_path: Path) -> None:
    directory = tmp_path / "open" / "private"
    directory.mkdir(parents=True, mode=0o700)
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ConfigurationInvalid, match=f"can rename entries of {tmp_path}/open"):
        check_private(directory)
    (tmp_path / "open").chmod(0o1777)
    check_private(directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_not_private(tmp_path: Path) -> None:
    directory = tmp_path / "theirs" / "private"
    directory.mkdir(parents=True)
    os.chown(tmp_path / "theirs", 1234, 1234)
    with pytest.raises(ConfigurationInvalid, match=r"theirs belongs to another user \(uid 1234\)"):
        check_parents(directory)
    with pytest.raises(ConfigurationInvalid, match=r"theirs belongs to another user \(uid 1234\)"):
        check_private(tmp_path / "theirs")


def modes_of(directory: Path) -> dict[str, int]:
    """The mode of a directory, and of every directory below it."""
    return {str(path.relative_to(directory)): path.stat().st_mode & 0o777 for path in directory.rglob("*/")}


def test_every_directory_on_the_way_is_made_private(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o755)
    make_private(tmp_path / "there" / "state" / "journal")
    make_private(tmp_path / "there" / "state" / "journal")
    assert modes_of(tmp_path) == {"there": 0o755, "there/state": 0o700, "there/state/journal": 0o700}


def make_records(state_dir: Path) -> None:
    RecordFiles(state_dir / "http" / "files", int)  # type: ignore[type-var]


def make_journal(state_dir: Path) -> None:
    locked(state_dir / "journal").close()


def make_sockets(state_dir: Path) -> None:
    RunDirectory(state_dir).remove()


def make_job_log(state_dir: Path) -> None:
    RotatingFile(state_dir / "jobs.jsonl").close()


def keep_clock(state_dir: Path) -> None:
    unix_offset(state_dir / "journal")


def keep_key(state_dir: Path) -> None:
    KeyStore(keys_dir(state_dir)).make_server_pair()


def keep_ray_output(state_dir: Path) -> None:
    RayOutput(state_dir, print, sys.stdout).close()


@pytest.mark.parametrize(
    "make", [make_records, make_journal, make_sockets, make_job_log, keep_clock, keep_key, keep_ray_output]
)
def test_the_state_directory_is_made_private_by_every_creator(tmp_path: Path, make: Callable[[Path], None]) -> None:
    before = os.umask(0o022)
    try:
        make(tmp_path / "state")
    finally:
        os.umask(before)
    modes = modes_of(tmp_path)
    assert modes.pop("state") == 0o700
    assert set(modes.values()) <= {0o700}

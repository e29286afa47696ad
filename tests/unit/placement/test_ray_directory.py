"""The directory of a private Ray cluster: private, with a short path, or an error before Ray is started."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cactus_actors.placement.ray import private_ray
from cactus_actors.placement.ray.private_ray import check_shared_memory
from cactus_actors.placement.ray.ray_directory import LONGEST_BELOW, MAX_SOCKET_PATH, make_ray_directory
from cactus_actors.protocol.errors import ConfigurationInvalid


@pytest.fixture
def parent() -> Iterator[Path]:
    """A directory with a name so short that Ray's sockets fit below it."""
    with tempfile.TemporaryDirectory(prefix="", dir="/tmp") as directory:
        yield Path(directory)


def test_each_directory_is_new_and_private(parent: Path) -> None:
    made = [make_ray_directory({"RAY_TMPDIR": str(parent / "a" / "b")}) for _ in range(2)]
    assert made[0] != made[1]
    for path in made:
        assert path.parent == parent / "a" / "b"
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert path.stat().st_uid == os.geteuid()


def test_too_long_paths_for_sockets_are_avoided_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    long_name = "/tmp/" + "d" * MAX_SOCKET_PATH
    path = make_ray_directory({"TMPDIR": long_name})
    try:
        assert path.parent == Path("/tmp").resolve()
        assert len(str(path)) + len(LONGEST_BELOW) <= MAX_SOCKET_PATH
    finally:
        path.rmdir()
    with pytest.raises(ConfigurationInvalid, match=r"RAY_TMPDIR=/tmp/ddd.*too long"):
        make_ray_directory({"RAY_TMPDIR": long_name})
    assert not Path(long_name).exists()


def test_a_path_that_is_not_a_directory_is_named(parent: Path) -> None:
    (parent / "file").touch()
    with pytest.raises(ConfigurationInvalid, match=f"{parent}/file: .*RAY_TMPDIR"):
        make_ray_directory({"RAY_TMPDIR": str(parent / "file")})


def test_a_shared_directory_without_the_sticky_bit_is_refused(parent: Path) -> None:
    shared = parent / "open"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(ConfigurationInvalid, match=rf"can rename entries of {shared}; run chmod \+t"):
        make_ray_directory({"RAY_TMPDIR": str(shared)})
    assert list(shared.iterdir()) == []
    shared.chmod(0o1777)
    assert make_ray_directory({"RAY_TMPDIR": str(shared)}).parent == shared


def test_shared_memory_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_ray, "SHARED_MEMORY", tmp_path / "missing")
    monkeypatch.setattr("cactus_actors.placement.ray.private_ray.sys.platform", "linux")
    with pytest.raises(ConfigurationInvalid, match=f"{tmp_path}/missing: .*object store"):
        check_shared_memory()

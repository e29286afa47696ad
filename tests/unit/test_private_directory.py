"""A directory that others can change, or put another in the place of, is refused by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cactus_actors.keys.private_directory import check_private, check_way_to
from cactus_actors.protocol.errors import ConfigurationInvalid


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o500])
def test_what_only_this_user_can_change_is_private(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    check_private(tmp_path)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_what_others_can_write_in_is_not(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(ConfigurationInvalid, match=rf"others can write in {tmp_path} \(mode {mode:04o}\)"):
        check_private(tmp_path)


def test_nor_is_what_lies_where_others_can_rename_it(tmp_path: Path) -> None:
    directory = tmp_path / "open" / "private"
    directory.mkdir(parents=True, mode=0o700)
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ConfigurationInvalid, match=f"can rename what is in {tmp_path}/open"):
        check_private(directory)
    (tmp_path / "open").chmod(0o1777)
    check_private(directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_nor_is_what_belongs_to_another_user(tmp_path: Path) -> None:
    directory = tmp_path / "theirs" / "private"
    directory.mkdir(parents=True)
    os.chown(tmp_path / "theirs", 1234, 1234)
    with pytest.raises(ConfigurationInvalid, match=r"theirs belongs to another user \(uid 1234\)"):
        check_way_to(directory)
    with pytest.raises(ConfigurationInvalid, match=r"theirs belongs to another user \(uid 1234\)"):
        check_private(tmp_path / "theirs")

"""What Ray cannot do without is named before Ray is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from cactus_actors.cluster import places
from cactus_actors.cluster.places import check_places
from cactus_actors.protocol.errors import ConfigurationInvalid


def test_a_directory_that_can_be_made_is_made(tmp_path: Path) -> None:
    check_places({"RAY_TMPDIR": str(tmp_path / "deep" / "down")})
    assert (tmp_path / "deep" / "down").is_dir()


def test_a_place_that_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationInvalid, match=f"{tmp_path}/file: .*RAY_TMPDIR"):
        check_places({"RAY_TMPDIR": str(tmp_path / "file")})
    monkeypatch.setattr(places, "SHARED_MEMORY", tmp_path / "missing")
    monkeypatch.setattr(places.sys, "platform", "linux")
    with pytest.raises(ConfigurationInvalid, match=f"{tmp_path}/missing: .*object store"):
        check_places({"RAY_TMPDIR": str(tmp_path)})

"""Unix time on disk: setting the clock does not move it, a reboot of the machine does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cactus_actors.process.wall_clock import FILE_NAME, unix_offset

DAY_S = 86_400.0


@pytest.fixture
def boot_id(tmp_path: Path) -> Path:
    path = tmp_path / "boot_id"
    path.write_text("first start\n")
    return path


def set_clock(monkeypatch: pytest.MonkeyPatch, by: float) -> None:
    real = time.time
    monkeypatch.setattr("cactus_actors.process.wall_clock.time.time", lambda: real() + by)


@pytest.mark.parametrize("by", [2 * DAY_S, -2 * DAY_S])
def test_setting_the_clock_changes_nothing_until_a_reboot(
    tmp_path: Path, boot_id: Path, monkeypatch: pytest.MonkeyPatch, by: float
) -> None:
    before = unix_offset(tmp_path, boot_id)
    assert abs(before + time.monotonic() - time.time()) < 60.0
    set_clock(monkeypatch, by)
    assert unix_offset(tmp_path, boot_id) == before
    boot_id.write_text("second start\n")
    assert abs(unix_offset(tmp_path, boot_id) - before - by) < 60.0


def test_without_a_usable_record_the_current_clock_is_used(tmp_path: Path, boot_id: Path) -> None:
    assert abs(unix_offset(tmp_path / "missing", boot_id) + time.monotonic() - time.time()) < 60.0
    for damaged in (b"\xff not json", b'{"boot_id": "\xff", "unix_offset": 1}'):
        (tmp_path / FILE_NAME).write_bytes(damaged)
        kept = unix_offset(tmp_path, boot_id)
        assert unix_offset(tmp_path, boot_id) == kept
    boot_id.unlink()
    assert abs(unix_offset(tmp_path, boot_id) + time.monotonic() - time.time()) < 60.0

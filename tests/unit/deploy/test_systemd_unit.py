"""The systemd unit: systemd's own check, and settings that fit the service."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.testing

from cactus_actors.cli import serve
from cactus_actors.cli.main import EXIT_UNAVAILABLE, EXIT_USAGE, app
from cactus_actors.config import ServeConfig
from tests.support.paths import ROOT

UNIT = (ROOT / "deploy" / "systemd" / "cactus.service").read_text(encoding="utf-8")
SETTINGS = dict(re.findall(r"^(\w+)=(.*)$", UNIT, re.M))
MAX_EXPOSURE = 2.0


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The unit as a file, for a program of this machine."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    path = tmp_path / "cactus.service"
    path.write_text(UNIT.replace("/opt/cactus/bin/cactus", sys.executable))
    return path


def analyzed(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)


def test_systemd_knows_every_setting(installed: Path) -> None:
    checked = analyzed("verify", str(installed))
    assert (checked.returncode, "cactus.service" in checked.stderr) == (0, False), checked.stderr


def test_systemd_names_an_unknown_setting(installed: Path) -> None:
    installed.write_text(installed.read_text().replace("PrivateTmp=", "PrivateTemp="))
    assert "PrivateTemp" in analyzed("verify", str(installed)).stderr


def test_the_service_is_exposed_to_little(installed: Path) -> None:
    told = analyzed("security", "--offline=true", "--no-pager", str(installed))
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", told.stdout)
    assert found is not None, told
    assert float(found[1]) <= MAX_EXPOSURE


def test_the_service_accepts_the_options_and_has_time_to_drain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[ServeConfig] = []
    monkeypatch.setattr(serve, "run_service", read.append)
    (tmp_path / "cactus.toml").write_text("workers = 2\n")
    _, *words = shlex.split(SETTINGS["ExecStart"].replace("/etc/cactus", str(tmp_path)))
    assert typer.testing.CliRunner().invoke(app, words).exit_code == 0
    [config] = read
    assert float(SETTINGS["TimeoutStopSec"]) >= config.drain_timeout_s + 15
    assert SETTINGS["KillMode"] == "mixed"  # SIGTERM would end the actors before the drain


def test_a_failure_is_restarted_and_a_wrong_configuration_is_not() -> None:
    assert SETTINGS["Restart"] == "on-failure"
    assert SETTINGS["RestartPreventExitStatus"] == str(EXIT_USAGE) != str(EXIT_UNAVAILABLE)


def test_only_the_state_directory_is_written() -> None:
    homes = re.findall(r"^Environment=\w+=(\S+)$", UNIT, re.M)
    assert all(Path(home).is_relative_to(f"/var/lib/{SETTINGS['StateDirectory']}") for home in homes)
    assert SETTINGS["ProtectSystem"] == "strict"
    assert SETTINGS["StateDirectoryMode"] == "0700"
    assert "MemoryDenyWriteExecute" not in SETTINGS  # kernels are compiled

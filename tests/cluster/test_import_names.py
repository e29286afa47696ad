"""A user's own modules `router` and `workers` and the actors' folders of these names do not conflict."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from cactus_actors.client import Client

MODULE = """
import os, pathlib, sys
MINE = __name__
pathlib.Path(os.environ["IMPORTED"]).open("a").write(f"{__file__} by {sys.argv}\\n")
"""
SCRIPT = """
import router, workers
from cactus_actors.router.core import RouterCore
from cactus_actors import Client
import cactus_actors.workers
import router as again
print(router.MINE, workers.MINE, again is router, RouterCore.__module__, cactus_actors.workers.__name__)
"""


@dataclass(frozen=True)
class UserDirectories:
    """A working directory, a directory on PYTHONPATH and a virtual environment, each with such modules."""

    cwd: Path
    python: Path
    environment: dict[str, str]
    imported: Path


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> UserDirectories:
    directory = tmp_path_factory.mktemp("user")
    cwd, on_path, environment = directory / "project", directory / "on_path", directory / "environment"
    venv.create(environment, with_pip=False)
    [site_packages] = environment.glob("lib/python*/site-packages")
    ours = sysconfig.get_path("purelib")
    (site_packages / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    _put(cwd, router="router.py", workers="workers/__init__.py")
    _put(on_path, router="router/__init__.py", workers="workers.py")
    _put(site_packages, router="router/__init__.py", workers="workers/__init__.py")
    (cwd / "script.py").write_text(SCRIPT)
    imported = directory / "imported.txt"
    variables = {"PYTHONPATH": str(on_path), "IMPORTED": str(imported)}
    return UserDirectories(cwd, environment / "bin" / "python", variables, imported)


def _put(directory: Path, router: str, workers: str) -> None:
    for name in (router, workers):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MODULE)


@pytest.fixture(params=["local", "private-ray", pytest.param("cluster-ray", marks=pytest.mark.slow)])
def placement_options(request: pytest.FixtureRequest) -> list[str]:
    if request.param == "cluster-ray":
        return ["--ray-address", request.getfixturevalue("ray_address")]
    return ["--placement", request.param.split("-")[-1]]


def test_a_service_started_in_a_directory_with_such_modules_imports_none_of_them(
    user: UserDirectories, tmp_path: Path, placement_options: list[str]
) -> None:
    command = [user.python, "-m", "cactus_actors.cli.main", "serve", *placement_options]
    command += ["--state-dir", str(tmp_path), "--http", "127.0.0.1:0"]
    command += ["--jobs-endpoint", "tcp://127.0.0.1:*", "--stream-endpoint", "tcp://127.0.0.1:*"]
    user.imported.unlink(missing_ok=True)
    with (
        (tmp_path / "stderr.txt").open("w") as stderr,
        subprocess.Popen(
            command, cwd=user.cwd, env=os.environ | user.environment, stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as process,
    ):
        assert process.stdout is not None
        try:
            ready, *words = process.stdout.readline().split()
            assert ready == "ready", (tmp_path / "stderr.txt").read_text()
            endpoints = dict(word.split("=", 1) for word in words)
            with Client(endpoints["jobs"], endpoints["stream"], timeout=60.0) as client:
                assert len(client.complete("Tell me a story.", max_tokens=5, ignore_eos=True).token_ids) == 5
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert not user.imported.exists(), user.imported.read_text()


def test_a_script_imports_its_own_modules_and_the_package_s(user: UserDirectories) -> None:
    user.imported.unlink(missing_ok=True)
    ran = subprocess.run(
        [user.python, "script.py"],
        cwd=user.cwd,
        env=os.environ | user.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    names = "router workers True cactus_actors.router.core cactus_actors.workers"
    assert (ran.stdout.strip(), ran.stderr) == (names, "")
    origins = [Path(line.split(" by ")[0]) for line in user.imported.read_text().splitlines()]
    assert origins == [user.cwd / "router.py", user.cwd / "workers" / "__init__.py"]


def test_this_environment_has_no_top_level_modules_of_these_names() -> None:
    program = "import importlib.util as u; print(u.find_spec('router'), u.find_spec('workers'))"
    found = subprocess.run([sys.executable, "-P", "-c", program], cwd="/", capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["None", "None"]

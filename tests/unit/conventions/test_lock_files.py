"""The lock files for the container, `make` and CI."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from tests.support.paths import ROOT

LOCKED = re.compile(r"^([a-z0-9._-]+)==(\S+)(?: ;.*)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUNTIME = [Requirement(text) for text in PROJECT["dependencies"]]
DEVELOPMENT = [
    Requirement(text)
    for extra in ("dev", "otel", "plots")
    for text in PROJECT["optional-dependencies"][extra]
    if not text.startswith("cactus-actors")
]
EXTENDED = {"uvicorn", "numba", "llguidance"}
"""Libraries of which more is used than their public interface."""


def locked(name: str) -> dict[str, list[str]]:
    """The versions of each package in a lock file, each of which has hashes."""
    text = (ROOT / "deploy" / name).read_text()
    versions: dict[str, list[str]] = {}
    for package, version, _ in LOCKED.findall(text):
        versions.setdefault(package, []).append(version)
    assert sum(map(len, versions.values())) == len(re.findall(r"^[a-z0-9]", text, re.M))
    return versions


@pytest.mark.parametrize(
    ("name", "requirements"),
    [("requirements.lock", RUNTIME), ("requirements-dev.lock", [*RUNTIME, *DEVELOPMENT])],
)
def test_requirements_of_the_project_are_locked(name: str, requirements: list[Requirement]) -> None:
    """Run `make lock` after a change of pyproject.toml to fix a failure."""
    versions = locked(name)
    for requirement in requirements:
        found = versions.get(requirement.name.lower().replace("_", "-"), [])
        assert found, requirement.name
        assert all(requirement.specifier.contains(version) for version in found), requirement.name


def test_development_and_runtime_lock_the_same_versions() -> None:
    served, developed = locked("requirements.lock"), locked("requirements-dev.lock")
    assert {name: developed.get(name) for name in served} == served


def test_libraries_with_extended_classes_have_an_upper_bound() -> None:
    bounded = {
        requirement.name
        for requirement in RUNTIME
        if any(part.operator in ("<", "<=", "==", "~=") for part in requirement.specifier)
    }
    assert bounded >= EXTENDED


def test_no_lock_file_names_a_host() -> None:
    for path in (ROOT / "deploy").glob("*.lock"):
        assert "://" not in path.read_text()

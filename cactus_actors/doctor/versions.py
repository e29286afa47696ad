"""The versions of Python and of the packages that this one needs."""

from __future__ import annotations

import platform
import re
from importlib import metadata

from cactus_actors.doctor.finding import Finding

PACKAGE = "cactus-actors"
SHOWN = ("numba", "numpy", "pyzmq", "tokenizers", "litestar", "ray")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[.*?\])?([^;]*)")
_BOUND = re.compile(r"(>=|<)\s*([0-9.]+)")


def versions() -> Finding:
    """Each required package is there, within its bounds."""
    problems = [problem for line in metadata.requires(PACKAGE) or () if (problem := _problem(line))]
    found = [f"{name} {version}" for name in SHOWN if (version := _version(name)) is not None]
    own = f"{PACKAGE} {metadata.version(PACKAGE)}, Python {platform.python_version()}, {', '.join(found)}"
    return Finding.judged(
        "versions",
        "; ".join([own, *problems]),
        (bool(problems), "bad", f"install the package with its dependencies: pip install --upgrade {PACKAGE}"),
    )


def _problem(requirement: str) -> str:
    """Why a requirement is not met; empty if it is, or belongs to an extra."""
    match = _REQUIREMENT.match(requirement)
    if match is None or "extra ==" in requirement:
        return ""
    name, bounds = match.groups()
    version = _version(name)
    if version is None:
        return f"{name} is missing"
    for relation, bound in _BOUND.findall(bounds):
        if (_parts(version) >= _parts(bound)) != (relation == ">="):
            return f"{name} {version} is not {relation}{bound}"
    return ""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _parts(version: str) -> list[int]:
    """The numbers at the beginning of a version, without zeros at the end."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    parts = [int(part) for part in match.group().split(".")] if match else []
    while parts and parts[-1] == 0:
        parts.pop()
    return parts

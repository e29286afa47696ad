"""The tables and the general statements of the architecture page are true."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator

import pytest

from tests.support.conventions.sources import Source, product
from tests.support.paths import ROOT
from tests.support.text.documents import page

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LAYERS = {one["containers"][0]: one["layers"] for one in CONTRACTS if one["type"] == "layers"}
CONTAINERS = ["cactus_actors", "cactus_actors.router", "cactus_actors.workers", "cactus_actors.gateway"]
SECTION = page("internals/architecture.md").split("\n## Layers")[1].split("\n## ")[0]

NETWORK = {"zmq", "socket", "selectors", "httpx", "ray"}
THREADS = {"threading", "multiprocessing", "subprocess", "concurrent", "asyncio"}
CLOCKS_AND_DISKS = {"time", "datetime", "sqlite3"}
WITHOUT = {
    "router/core.py": NETWORK | THREADS | CLOCKS_AND_DISKS,
    "router/effects.py": NETWORK | THREADS | CLOCKS_AND_DISKS,
    "router/lifecycle": NETWORK | THREADS | CLOCKS_AND_DISKS,
    "router/scheduling": NETWORK | THREADS | CLOCKS_AND_DISKS,
    "router/cascade": NETWORK | THREADS | CLOCKS_AND_DISKS,
    "router/state": NETWORK | THREADS | CLOCKS_AND_DISKS,
    "workers/engine": NETWORK | THREADS,
    "workers/session.py": NETWORK | THREADS,
    "workers/report_window.py": NETWORK | THREADS,
    "cactus_actors/fleet": NETWORK | THREADS,
}
"""Modules that files must not import, by file or folder."""

MESSAGE_FILES = {
    "cactus_actors/protocol/messages.py",
    "cactus_actors/protocol/worker_messages.py",
    "router/edge/edge_messages.py",
    "router/preparation/preparer_frames.py",
}


def tables() -> list[list[set[str]]]:
    """The layers of each table of the page, from the top: the names of each row."""
    found: list[list[set[str]]] = []
    for line in SECTION.splitlines():
        if line.startswith("| layer |"):
            found.append([])
        elif line.startswith("| `"):
            names = re.findall(r"`([^`]+)`", line.split(" | ")[0])
            found[-1].append({name.rstrip("/").removesuffix(".py") for name in names})
    return found


def in_contract(layer: str) -> set[str]:
    """The names of one layer of a contract, without those that only have a place in it."""
    assert ":" not in layer  # names on one line may not import each other
    return {name.strip() for name in layer.split("|") if not name.strip().startswith("(")}


@pytest.mark.parametrize(("place", "container"), [*enumerate(CONTAINERS)])
def test_a_table_of_layers_equals_its_contract(place: int, container: str) -> None:
    assert tables()[place] == [in_contract(layer) for layer in LAYERS[container]]


def test_actors_do_not_import_each_other() -> None:
    [contract] = [one for one in CONTRACTS if one["type"] == "independence"]
    assert set(contract["modules"]) == {f"cactus_actors.{name}" for name in ("router", "workers", "handoff", "gateway")}


def files_in(path: str) -> list[Source]:
    """The file of the product at a path, or those in the folder there."""
    return [file for file in product() if file.path == path or file.path.startswith(f"{path}/")]


def imported(file: Source) -> set[str]:
    """The top-level names of the modules that a file imports."""
    names: set[str] = set()
    for node in file.nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("path", WITHOUT)
def test_state_machines_import_no_input_or_output(path: str) -> None:
    files = files_in(path)
    assert files
    assert {file.path: imported(file) & WITHOUT[path] for file in files if imported(file) & WITHOUT[path]} == {}


def tagged_messages(file: Source) -> Iterator[str]:
    """The structs of a file that a decoder distinguishes by a tag, unless they are parts of a body of HTTP."""
    for node in file.classes():
        if any(keyword.arg == "tag" for keyword in node.keywords) and not file.path.startswith("cactus_actors/api/"):
            yield node.name


def test_the_page_names_the_file_of_each_message() -> None:
    with_messages = {file.path for file in product() if any(tagged_messages(file))}
    assert with_messages == MESSAGE_FILES
    assert all(f"`{name}`" in page("internals/architecture.md") for name in MESSAGE_FILES)


def test_every_dependency_is_documented() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    names = {re.split(r"[\[<>=~! ]", one)[0] for one in wanted} - {"cactus-actors"}
    text = page("internals/dependencies.md")
    assert [name for name in sorted(names) if not re.search(rf"\b{re.escape(name)}\b", text)] == []

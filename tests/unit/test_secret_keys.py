"""Secret keys do not get out by accident, and no code reads bytes as more than data."""

from __future__ import annotations

import ast
import copy
import logging
import pickle
from pathlib import Path

import pytest

from cactus_actors.keys.key_file import Credentials
from cactus_actors.keys.key_pair import KeyPair, is_public_key
from cactus_actors.protocol.errors import ConfigurationInvalid

ROOT = Path(__file__).parents[2]
PACKAGES = ("cactus_actors", "router", "workers")
RUNS_WHAT_IT_READS = {
    "pickle", "cloudpickle", "dill", "marshal", "shelve", "eval", "exec", "recv_pyobj",
    "send_pyobj",
}  # fmt: skip


def test_a_secret_key_is_not_shown() -> None:
    pair = KeyPair.generate()
    credentials = Credentials(pair, KeyPair.generate().public, "alice")
    record = logging.LogRecord("n", 40, "p", 1, "%s %r", (pair, credentials), None)
    for text in (str(pair), f"{credentials}", record.getMessage(), str([pair]), f"{vars(credentials)}"):
        assert pair.reveal() not in text
    assert KeyPair(pair.reveal()).public == pair.public


def test_a_secret_key_does_not_leave_its_process() -> None:
    """Ray would send it to another one with the arguments of an actor."""
    for secret in (KeyPair.generate(), Credentials(KeyPair.generate(), "", "")):
        with pytest.raises(TypeError, match="does not leave its process"):
            pickle.dumps(secret)
        with pytest.raises(TypeError, match="does not leave its process"):
            copy.deepcopy(secret)


@pytest.mark.parametrize("text", ["", "x", "é" * 40, "0" * 39, '"' * 40, "0" * 41])
def test_what_is_no_key(text: str) -> None:
    assert not is_public_key(text)
    with pytest.raises(ConfigurationInvalid, match="40 characters"):
        KeyPair(text)


def names_of(path: Path) -> set[str]:
    """Every module, function and attribute that a file names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=modules):
                names |= {part for module in modules for part in module.name.split(".")}
            case ast.ImportFrom(module=module, names=imported):
                names |= {*(module or "").split("."), *(name.name for name in imported)}
            case ast.Name(id=name) | ast.Attribute(attr=name):
                names.add(name)
    return names


def test_no_code_runs_what_it_reads() -> None:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert len(files) > 100
    found = {
        str(path.relative_to(ROOT)): sorted(names)
        for path in files
        if (names := names_of(path) & RUNS_WHAT_IT_READS)
    }
    assert found == {}
    assert names_of(Path(__file__)) >= {"pickle"}


def test_no_check_is_an_assertion() -> None:
    """`python -O` drops assertions: where keys are checked there are none."""
    checked = [*(ROOT / "cactus_actors" / "keys").glob("*.py"), ROOT / "router" / "gate.py"]
    checked += [ROOT / "router" / "known_keys.py", ROOT / "router" / "topics.py"]
    for path in checked:
        assert not [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Assert)]

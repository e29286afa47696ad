"""The programs in the documents run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from cactus_actors import sdk
from cactus_actors.ffi.build import build
from tests.support.text.documents import page


def blocks(document: str, language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", page(document), re.M | re.S)
    assert found
    return [str(block) for block in found]


@pytest.mark.parametrize("document", ["reference/sdk.md", "guide/retrieval.md"])
def test_the_python_examples_run(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(document, "python"):
        exec(compile(block, document, "exec"), {})
    printed = capsys.readouterr().out
    if document == "guide/retrieval.md":
        chunks, answer = printed.splitlines()
        assert "ten past nine" in chunks
        assert f"`{answer}`" in page(document)
    else:
        assert "2 + 2 = 4" in printed


@pytest.mark.skipif(
    shutil.which("cc") is None or not sysconfig.get_config_var("Py_ENABLE_SHARED"),
    reason="needs a C compiler that is called cc and a shared libpython",
)
def test_the_c_examples_run(tmp_path: Path) -> None:
    build(tmp_path / "build" / "ffi")
    [program] = blocks("reference/sdk.md", "c")
    (tmp_path / "program.c").write_text(program)
    command = re.search(r"^    (cc .*)$", page("reference/sdk.md"), re.M)
    assert command is not None
    subprocess.run(f"{command[1]} -Wall -Wextra -Werror", shell=True, check=True, cwd=tmp_path)
    done = subprocess.run([tmp_path / "a.out"], check=True, capture_output=True, timeout=120)
    assert done.stdout == b"2 + 2 = 4."


def test_every_function_is_documented_and_model_functions_are_in_the_header() -> None:
    told = set(re.findall(r"^\| `(cactus_\w+)\(", page("reference/sdk.md"), re.M))
    header = (Path(sdk.__file__).parents[1] / "ffi" / "cactus_ffi.h").read_text()
    declared = set(re.findall(r"\b(cactus_\w+)\(", header))
    assert told == {name for name in sdk.__all__ if name.startswith("cactus_")}
    assert declared == {name for name in told if not name.startswith("cactus_index_")}

"""Compiles and runs C programs with the shared library."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from cactus_actors.models.catalog import resolve_model

needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None or not sysconfig.get_config_var("Py_ENABLE_SHARED"),
    reason="needs a C compiler that is called cc and a shared libpython",
)


def run(program: str, library: Path, directory: Path, *arguments: str, flags: tuple[str, ...] = ()) -> str:
    """The output of the program; the example path of the documents links to the embedded model."""
    source, binary = directory / "program.c", directory / "program"
    source.write_text(program.replace("/path/to/model", str(resolve_model("cactus-sprout"))))
    link = [f"-I{library}", f"-L{library}", "-lcactus", f"-Wl,-rpath,{library}"]
    subprocess.run(["cc", *flags, str(source), "-o", str(binary), *link], check=True)
    done = subprocess.run([str(binary), *arguments], capture_output=True, cwd=directory, env=os.environ, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()

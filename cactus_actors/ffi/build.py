"""`python -m cactus_actors.ffi.build`: the shared library and its headers.

The library embeds the Python that built it, with the packages that this Python sees.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import site
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from cffi import FFI

from cactus_actors.protocol.errors import CactusError, ConfigurationInvalid

HEADERS = ("cactus.h", "cactus_ffi.h")
_HERE = Path(__file__).parent
_PACKAGES = _HERE.parents[1]  # where cactus_actors lies

# The pointer stays valid until the next call of the same thread.
_SOURCE = """
#include "cactus_ffi.h"

extern int cactus_copy_last_error(char *buffer, size_t size);

CFFI_DLLEXPORT const char *cactus_get_last_error(void)
{
    static __thread char message[4096];
    if (cactus_copy_last_error(message, sizeof(message)) < 0)
        message[0] = 0;
    return message;
}
"""

_INITIALISATION = """
import site, sys
for directory in {directories!r}:
    site.addsitedir(directory)
try:
    from _cactus import ffi
    from cactus_actors.ffi.entry import define
    define(ffi)
except ImportError as error:
    raise ImportError(f"the Python packages of this library are gone: {{error}}; build it again") from error
"""


def build(directory: Path) -> Path:
    """Compile the library into `directory`, next to its headers; returns its path.

    Raises ConfigurationInvalid without a C compiler, Python.h or a shared libpython.
    """
    compiler, include, libraries = _toolchain()
    directory.mkdir(parents=True, exist_ok=True)
    for header in HEADERS:
        shutil.copy(_HERE / header, directory)
    library = directory / ("libcactus.dylib" if sys.platform == "darwin" else "libcactus.so")
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "cactus.c"
        with contextlib.redirect_stdout(io.StringIO()):  # it announces the file's name
            _ffi().emit_c_code(str(source))
        command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source)]
        command += [f"-I{_HERE}", f"-I{include}", *libraries]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigurationInvalid(f"{compiler} could not build {library}: {done.stderr.strip()[-2000:]}")
    return library


def _ffi() -> FFI:
    ffi = FFI()
    ffi.embedding_api(_declarations())
    ffi.set_source("_cactus", _SOURCE)
    directories = [*site.getsitepackages(), str(_PACKAGES)]
    ffi.embedding_init_code(_INITIALISATION.format(directories=directories))
    return ffi


def _declarations() -> str:
    """The header's declarations, without preprocessor lines and definitions in C."""
    lines, is_in_cplusplus = [], False
    for line in (_HERE / "cactus_ffi.h").read_text().splitlines():
        if line.startswith("#"):
            is_in_cplusplus = line.startswith("#ifdef __cplusplus")
        elif not is_in_cplusplus:
            lines.append(line)
    text = "\n".join(lines)
    in_c = "const char *cactus_get_last_error(void);"
    assert in_c in text, "the C source defines it"
    return text.replace(in_c, "int cactus_copy_last_error(char *buffer, size_t size);")


def _toolchain() -> tuple[str, str, list[str]]:
    """The compiler, the directory of Python.h, and the flags that link libpython."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise ConfigurationInvalid("no C compiler: install one that is called cc")
    include = sysconfig.get_path("include")
    if not (Path(include) / "Python.h").is_file():
        raise ConfigurationInvalid(f"no Python.h in {include}: install Python's development files")
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        raise ConfigurationInvalid("this Python has no shared libpython, which C programs need to embed it")
    directory = str(sysconfig.get_config_var("LIBDIR"))
    name = f"python{sysconfig.get_config_var('LDVERSION')}"
    return compiler, include, [f"-L{directory}", f"-l{name}", f"-Wl,-rpath,{directory}"]


def main(
    out: Annotated[Path, typer.Option(help="Where the library and its headers go.")] = Path("build/ffi"),
) -> None:
    """Build the C library.

    Then: cc program.c -I build/ffi -L build/ffi -lcactus -Wl,-rpath,$PWD/build/ffi
    """
    try:
        typer.echo(build(out))
    except CactusError as error:
        typer.secho(f"error: {error.message}", fg=typer.colors.RED, err=True)
        raise typer.Exit(2) from None


if __name__ == "__main__":
    typer.run(main)

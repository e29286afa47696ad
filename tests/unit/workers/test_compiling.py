"""The directory of compiled code."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.kernels.compile_cache import compile_lock, sources_hash
from tests.support.router.scripted_router import until

LIMIT_S = 300.0
LOAD = """
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.engine.sampler import Sampler
try:
    Sampler([2])
except ConfigurationInvalid as error:
    print(error.message)
"""


def kept_in(directory: Path) -> Any:
    """The part of a compiled function that determines where numba stores it."""
    function = SimpleNamespace(__qualname__="kernel_0123")
    return SimpleNamespace(stats=SimpleNamespace(cache_path=str(directory)), py_func=function)


def test_a_new_directory_is_private(tmp_path: Path) -> None:
    with compile_lock(kept_in(tmp_path / "compiled" / "kernels")):
        pass
    modes = {(tmp_path / name).stat().st_mode & 0o777 for name in ("compiled", "compiled/kernels")}
    assert modes == {0o700}


def open_to_all(directory: Path) -> None:
    directory.chmod(0o777)


def way_open_to_all(directory: Path) -> None:
    directory.parent.chmod(0o777)


def given_away(directory: Path) -> None:
    os.chown(directory, 1234, 1234)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (open_to_all, "run chmod go-w on it"),
        (way_open_to_all, r"run chmod \+t on it"),
        pytest.param(
            given_away,
            "belongs to another user",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away"),
        ),
    ],
)
def test_nothing_is_loaded_from_directories_that_others_can_write(
    tmp_path: Path, change: Callable[[Path], None], reason: str
) -> None:
    directory = tmp_path / "parent" / "compiled"
    directory.mkdir(parents=True)
    change(directory)
    with (
        pytest.raises(ConfigurationInvalid, match=f"{directory}.*{reason}.*NUMBA_CACHE_DIR"),
        compile_lock(kept_in(directory)),
    ):
        pytest.fail("it went on")
    assert not (directory / "kernel.lock").exists()


def test_a_worker_refuses_the_default_directory_of_numba(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    result = subprocess.run(
        [sys.executable, "-c", LOAD],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        timeout=LIMIT_S,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "others can change the directory of compiled code" in result.stdout
    assert str(tmp_path) in result.stdout


def test_file_names_of_compiled_code_contain_a_hash_of_its_sources() -> None:
    from cactus_actors.workers.kernels.sampling import sample_rows
    from cactus_actors.workers.runtime import compiled_step

    runtime = Path(compiled_step.__file__).parent
    hashes = sources_hash(), sources_hash(runtime)
    for function, source_hash in zip((sample_rows, compiled_step.step_of_rank), hashes, strict=True):
        assert function._cache._impl.filename_base.split("-")[0].endswith(f"_{source_hash}")


def test_every_source_of_a_folder_is_hashed(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    hashes = set()
    for name, text in (("a.py", "A = 1"), ("a.py", "A = 2"), ("below/b.py", "B = 1")):
        (tmp_path / name).write_text(text)
        hashes.add(sources_hash(tmp_path))
    assert len(hashes) == 3


def test_compiled_code_of_other_sources_is_removed(tmp_path: Path) -> None:
    kept = [tmp_path / "kernels.kernel_0123-9.py312.nbi", tmp_path / "kernels.kernel_0123-9.py312.1.nbc"]
    obsolete = [tmp_path / "kernels.kernel_4567-9.py312.nbi", tmp_path / "kernels.locals.kernel-9.py312.1.nbc"]
    for file in (*kept, *obsolete):
        file.write_bytes(b"not a pickle")
    with compile_lock(kept_in(tmp_path)):
        pass
    assert set(tmp_path.iterdir()) == {*kept, tmp_path / "kernel.lock"}


@pytest.mark.parametrize(("quiet_wait_s", "is_logged"), [(3600.0, False), (0.0, True)])
def test_a_long_wait_for_another_compilation_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, quiet_wait_s: float, is_logged: bool
) -> None:
    def wait() -> None:
        with compile_lock(kept_in(tmp_path), quiet_wait_s):
            pass

    expected = [f"the model waits for another process that compiles kernels into {tmp_path}"] if is_logged else []
    waiting = threading.Thread(target=wait)
    with compile_lock(kept_in(tmp_path)):
        waiting.start()
        until(lambda: caplog.messages == expected)
        assert waiting.is_alive()
    waiting.join()
    assert caplog.messages == expected


def test_the_garbage_collector_is_disabled_during_compilation(tmp_path: Path) -> None:
    def fail_to_compile() -> None:
        with compile_lock(kept_in(tmp_path)):
            raise ValueError(f"collecting: {gc.isenabled()}")

    assert gc.isenabled()
    with pytest.raises(ValueError, match="collecting: False"):
        fail_to_compile()
    assert gc.isenabled()

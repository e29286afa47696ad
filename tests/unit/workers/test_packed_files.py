"""Packed models in the cache: written once, used again, rewritten if they cannot be trusted."""

from __future__ import annotations

import faulthandler
import logging
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.loading.packed_file import packed_arenas, packed_path
from cactus_actors.workers.loading.packing import pack
from cactus_actors.workers.runtime.layout import Arenas, WeightLayout
from tests.support.paths import GOLDENS, ROOT

GOLDEN = GOLDENS / "llama3"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN, tmp_path / "Model-1.5B"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "packed"


class Loading:
    """One load of a model's weights through the cache."""

    def __init__(self, model: Path, weights: str = "int8") -> None:
        self.has_packed = False
        files = read_model(model)
        layout = WeightLayout.for_weights(files.graph, weights)
        self.arenas = packed_arenas(packed_path(model, layout), files, layout, self._note)
        self.expected = Arenas.empty(layout)
        pack(files.graph, layout, files.tensors, self.expected)

    def _note(self, num_bytes: int, total: int) -> None:
        assert 0 < num_bytes <= total
        self.has_packed = True

    @property
    def is_right(self) -> bool:
        """True if these are the weights that packing the model's files gives."""
        return all(np.array_equal(*pair) for pair in zip(self.arenas, self.expected, strict=True))


def packed_files(cache: Path) -> list[Path]:
    return [path for path in cache.iterdir() if path.suffix != ".lock"]


def set_last_weight(model: Path, half: bytes) -> None:
    """Replace the last weight of the file, as the two bytes of a bfloat16."""
    with (model / "model.safetensors").open("r+b") as file:
        file.seek(-2, os.SEEK_END)
        file.write(half)


def test_a_model_is_packed_once(model: Path, cache: Path) -> None:
    first = Loading(model)
    (packed,) = packed_files(cache)
    stat = packed.stat()
    second = Loading(model)
    assert packed_files(cache) == [packed]
    assert (packed.stat().st_ino, packed.stat().st_mtime_ns) == (stat.st_ino, stat.st_mtime_ns)
    assert (first.has_packed, second.has_packed) == (True, False)
    assert first.is_right
    assert second.is_right


def test_every_format_has_its_own_packed_file(model: Path, cache: Path) -> None:
    assert all(Loading(model, weights).is_right for weights in ("int8", "float32", "int8"))
    assert len(packed_files(cache)) == 2


def test_models_of_the_same_name_have_separate_files(model: Path, cache: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(model, tmp_path / "elsewhere" / model.name))
    set_last_weight(other, b"\x80\x3f")
    assert [Loading(each).has_packed for each in (model, other, model, other)] == [True, True, False, False]


def test_changed_weights_are_packed_again_and_the_old_file_is_removed(model: Path, cache: Path) -> None:
    Loading(model)
    (former,) = packed_files(cache)
    set_last_weight(model, b"\x80\x3f")
    changed = Loading(model)
    assert changed.has_packed
    assert changed.is_right
    (packed,) = packed_files(cache)
    assert packed != former


def test_a_model_has_a_packed_file_for_each_encoder(model: Path, tmp_path: Path) -> None:
    layout = WeightLayout.for_weights(read_model(model).graph, "int8")
    mmproj = tmp_path / "mmproj.gguf"
    mmproj.write_bytes(b"one")
    alone, with_encoder = packed_path(model, layout), packed_path(model, layout, mmproj)
    mmproj.write_bytes(b"another")
    changed = packed_path(model, layout, mmproj)
    assert len({alone, with_encoder, changed}) == 3
    names = [path.name.rpartition("-")[0] for path in (alone, with_encoder, changed)]
    assert names[0] != names[1] == names[2], "a changed encoder replaces the former file, and not that of the text"


def test_another_graph_of_the_same_weights_is_packed_separately(model: Path) -> None:
    Loading(model)
    config = (model / "config.json").read_text()
    (model / "config.json").write_text(
        config.replace("LlamaForCausalLM", "MistralForCausalLM").replace('"llama"', '"mistral"')
    )
    assert Loading(model).has_packed


def cut(packed: Path) -> None:
    with packed.open("r+b") as file:
        file.truncate(packed.stat().st_size - 1)


def empty(packed: Path) -> None:
    packed.write_bytes(b"")


def spoil(packed: Path) -> None:
    with packed.open("r+b") as file:
        file.seek(20)
        file.write(b"\0")


def leave_another(packed: Path) -> None:
    """Leave the file that a killed process leaves before it is renamed."""
    packed.rename(packed.with_suffix(".part"))
    spoil(packed.with_suffix(".part"))


@pytest.mark.parametrize("damage", [cut, empty, spoil, leave_another])
def test_a_damaged_packed_file_is_rebuilt(model: Path, cache: Path, damage: Callable[[Path], None]) -> None:
    Loading(model)
    (packed,) = packed_files(cache)
    damage(packed)
    again = Loading(model)
    assert again.has_packed
    assert again.is_right
    assert packed_files(cache) == [packed]
    assert not Loading(model).has_packed


def test_a_packed_file_truncated_while_mapped_ends_one_process_and_is_rebuilt(
    model: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mapped = Loading(model).arenas
    (packed,) = packed_files(cache)
    pid = os.fork()
    if pid == 0:
        faulthandler.disable()
        os.truncate(packed, 4096)
        os._exit(int(mapped.body.sum() == 0))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGBUS
    again = Loading(model)
    assert f"{packed} is damaged" in caplog.text
    assert again.has_packed
    assert again.is_right


def test_a_model_that_cannot_be_packed_leaves_no_file(model: Path, cache: Path) -> None:
    set_last_weight(model, b"\xc0\x7f")
    with pytest.raises(ModelFileInvalid, match="values that are not finite"):
        Loading(model)
    assert packed_files(cache) == []


def test_an_unusable_cache_directory_costs_memory_only(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with caplog.at_level(logging.WARNING):
        assert Loading(model).is_right
    assert "its own copy" in caplog.text


def test_a_full_disk_costs_memory_only(model: Path, cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, limits[1]))
    try:
        assert Loading(model).is_right
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "its own copy" in caplog.text
    assert packed_files(cache) == []
    assert Loading(model).is_right
    assert len(packed_files(cache)) == 1


PACK = """
import sys
from pathlib import Path
from cactus_actors.workers.loading.load_model import pack_model
from cactus_actors.workers.loading import packed_file
print("ready", flush=True)
sys.stdin.readline()
print(pack_model(Path(sys.argv[1]), weights="int8").is_new, flush=True)
"""


def test_only_one_of_several_processes_packs(model: Path, cache: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PACK, model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:  # only now, so that they start together
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert sorted(outputs) == ["False\n", "False\n", "True\n"]
    assert not Loading(model).has_packed

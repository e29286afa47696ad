"""Each part of an examination: what it finds on a machine that is as it should be, and on one that is not."""

from __future__ import annotations

import os
import resource
import socket
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from cactus_actors.config import HandoffSettings, ServeConfig
from cactus_actors.config_models import ModelEntry
from cactus_actors.doctor.cluster import cluster
from cactus_actors.doctor.endpoints import ports, settings
from cactus_actors.doctor.finding import Finding
from cactus_actors.doctor.limits import cpu_quota, descriptors, free_memory, memory_limit
from cactus_actors.doctor.memory import memory
from cactus_actors.doctor.processor import processor
from cactus_actors.doctor.storage import cache, kernels, state_directory
from cactus_actors.doctor.versions import versions
from cactus_actors.service.state_directory import StateDirectory

ANY_PORT = "tcp://127.0.0.1:*"


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    """The control groups of a process in /pods/one, of which the outer one has the stricter limits."""
    (tmp_path / "own").write_text("0::/pods/one\n")
    own, outer = tmp_path / "pods" / "one", tmp_path / "pods"
    own.mkdir(parents=True)
    (own / "memory.max").write_text("max\n")
    (own / "memory.current").write_text(f"{1 << 30}\n")
    (own / "cpu.max").write_text("max 100000\n")
    (outer / "memory.max").write_text(f"{4 << 30}\n")
    (outer / "memory.current").write_text(f"{3 << 30}\n")
    (outer / "cpu.max").write_text("150000 100000\n")
    return tmp_path


def test_the_strictest_limit_of_the_control_groups_counts(groups: Path) -> None:
    assert cpu_quota(groups, groups / "own") == 1.5
    assert memory_limit(groups, groups / "own") == 4 << 30
    info = groups / "meminfo"
    info.write_text(f"MemTotal: {64 << 20} kB\nMemAvailable: {32 << 20} kB\n")
    assert free_memory(groups, groups / "own", info) == 1 << 30
    info.write_text("MemTotal: 4096 kB\nMemAvailable: 1024 kB\n")
    assert free_memory(groups, groups / "own", info) == 1 << 20


def test_a_process_without_control_groups_has_no_limit(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path, tmp_path / "none") is None
    assert memory_limit(tmp_path, tmp_path / "none") is None


def test_more_threads_than_processors_are_a_note() -> None:
    cpus = len(os.sched_getaffinity(0))
    *_, cores = processor(ServeConfig(workers=1, threads=1))
    assert (cores.grade, cores.figures["worker_threads"]) == ("good", 1)
    *_, cores = processor(ServeConfig(workers=2, threads=cpus))
    assert (cores.grade, cores.figures["worker_threads"]) == ("note", 2 * cpus)
    *_, cores = processor(ServeConfig(workers=1, threads=1), quota=0.5)
    assert cores.grade == "note"
    assert "limited to the time of 0.5" in cores.text


def test_kernels_that_the_processor_cannot_run_are_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = processor(ServeConfig())
    assert first.subject == "processor"
    monkeypatch.setenv("CACTUS_KERNELS", "portable")
    slower, *_ = processor(ServeConfig())
    monkeypatch.setenv("CACTUS_KERNELS", "sse9")
    refused, *_ = processor(ServeConfig())
    assert [slower.grade, refused.grade] == ["note", "bad"]
    assert "CACTUS_KERNELS" in refused.advice


def test_memory_that_does_not_suffice_is_bad() -> None:
    two = ServeConfig(models=[ModelEntry(name="cactus-sprout", workers=2)])
    enough = memory(two, free=16 << 30)
    assert enough.grade == "good"
    one = memory(ServeConfig(), free=int(enough.figures["needed_bytes"]) // 4)
    assert one.grade == "bad"
    assert one.figures["needed_bytes"] < enough.figures["needed_bytes"]


def test_a_model_on_the_hub_is_not_fetched_to_be_measured() -> None:
    found = memory(ServeConfig(model="owner/name"), free=16 << 30)
    assert found.grade == "good"
    assert "owner/name, which is not on this machine yet" in found.text


def test_files_of_a_model_that_no_worker_can_load_are_bad(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert memory(ServeConfig(model=str(tmp_path)), free=16 << 30).grade == "bad"


def test_a_state_directory_is_measured_and_left_as_it_is(tmp_path: Path) -> None:
    found = state_directory(tmp_path / "not" / "there")
    assert found.figures["fsync_ms"] >= 0
    assert found.figures["free_bytes"] > 0
    assert [*tmp_path.iterdir()] == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_state_directory_that_cannot_be_written_is_bad(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert state_directory(tmp_path / "state").grade == "bad"
    assert cache("packed models", tmp_path / "cache", "CACTUS_CACHE_DIR").grade == "note"


def test_compiled_code_that_others_can_change_is_bad(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    found = kernels(tmp_path, "step_0123")
    assert found.grade == "bad"
    assert "NUMBA_CACHE_DIR" in found.advice


def test_kernels_of_the_present_sources_are_there_or_the_command_that_makes_them_is_named(tmp_path: Path) -> None:
    former = tmp_path / "compiled_step.step_4567-53.py311.nbi"
    former.touch()
    missing = kernels(tmp_path, "step_0123")
    assert missing.grade == "note"
    assert missing.text.startswith("none yet; ")
    assert "cactus warm" in missing.advice
    (tmp_path / former.name.replace("4567", "0123")).touch()
    assert kernels(tmp_path, "step_0123").grade == "good"
    assert kernels(tmp_path / "missing", "step_0123").grade == "note"


def test_settings_that_a_service_refuses_are_bad() -> None:
    assert settings(ServeConfig(), {}).grade == "good"
    refused = settings(ServeConfig(http="0.0.0.0:8080"), {})
    assert refused.grade == "bad"
    assert "key" in refused.text
    assert settings(ServeConfig(handoff=HandoffSettings(base_url="ftp://x")), {}).grade == "bad"


@pytest.fixture
def taken() -> Iterator[str]:
    """An address on which another program listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_port_in_use_is_bad_unless_the_service_of_the_state_directory_has_it(taken: str, tmp_path: Path) -> None:
    config = ServeConfig(jobs_endpoint=ANY_PORT, stream_endpoint=ANY_PORT, http=taken, state_dir=tmp_path / "state")
    found = ports(config)
    assert found.grade == "bad"
    assert f"{taken} is in use" in found.text
    state = StateDirectory(config.state_dir, "tcp://127.0.0.1:5555", lambda _: None)
    running = ports(config)
    state.close()
    assert running.grade == "good"
    assert f"process {os.getpid()} at tcp://127.0.0.1:5555" in running.text
    assert ports(config).grade == "bad"


def test_few_descriptors_are_a_note_and_very_few_are_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    grades = []
    for soft in (100, 1024, 65_536, resource.RLIM_INFINITY):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, resource.RLIM_INFINITY))
        grades.append(descriptors().grade)
    assert grades == ["bad", "note", "good", "good"]


def test_a_cluster_that_does_not_answer_is_bad(monkeypatch: pytest.MonkeyPatch, taken: str) -> None:
    assert cluster(ServeConfig()).text.startswith("not used; Ray ")
    monkeypatch.setitem(sys.modules, "ray", None)
    assert cluster(ServeConfig()).text == "not used; no Ray is installed"
    missing = cluster(ServeConfig(ray_address=taken))
    assert missing.grade == "bad"
    assert "cactus-actors[ray]" in missing.text


def test_the_first_problem_that_is_there_decides() -> None:
    found = Finding.judged("disk", "1 GB", (False, "bad", "none"), (True, "note", "soon"), (True, "bad", "now"), gb=1.0)
    assert (found.grade, found.advice, found.figures) == ("note", "soon", {"gb": 1.0})


def test_a_package_that_is_missing_or_too_old_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    assert versions().grade == "good"
    needed = ["numpy>=99.1", "numba>=0.63,<0.64", "nonsuch>=1", "ray>=99; extra == 'ray'", "rich>=14.0", "msgspec"]
    monkeypatch.setattr(metadata, "requires", lambda _: needed)
    found = versions()
    assert found.grade == "bad"
    numpy, numba = metadata.version("numpy"), metadata.version("numba")
    problems = [f"numpy {numpy} is not >=99.1", f"numba {numba} is not <0.64", "nonsuch is missing"]
    assert found.text.split("; ")[1:] == problems

"""Cores, their NUMA nodes and containers, as a written /sys describes them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from cactus_actors.process.cpu_cores import Core, bound_node, cores_of, may_share_cpus, pin_threads


def write(system: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = system / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return system


def two_nodes(system: Path) -> Path:
    """Four cores of two CPUs each on two nodes; the second CPU of core N is N + 4, as Linux counts them."""
    siblings = {f"cpu/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 4},{cpu % 4 + 4}" for cpu in range(8)}
    nodes = {"node/node0/cpulist": "0-1,4-5", "node/node1/cpulist": "2-3,6-7", "cpu/online": "0-7"}
    return write(system, siblings | nodes)


def test_cores_have_their_cpus_and_nodes(tmp_path: Path) -> None:
    system = two_nodes(tmp_path)
    assert cores_of(range(8), system) == [
        Core(0, frozenset({0, 4})),
        Core(0, frozenset({1, 5})),
        Core(1, frozenset({2, 6})),
        Core(1, frozenset({3, 7})),
    ]


def test_cores_have_only_the_cpus_that_are_allowed(tmp_path: Path) -> None:
    system = two_nodes(tmp_path)
    assert cores_of({5, 2, 6}, system) == [Core(0, frozenset({5})), Core(1, frozenset({2, 6}))]


def test_without_a_description_each_cpu_is_a_core(tmp_path: Path) -> None:
    assert cores_of({3, 1}, tmp_path) == [Core(0, frozenset({1})), Core(0, frozenset({3}))]
    assert bound_node({1}, tmp_path) is None


def test_a_process_is_bound_to_a_node_only_if_there_are_others(tmp_path: Path) -> None:
    system = two_nodes(tmp_path / "two")
    assert bound_node({2, 7}, system) == 1
    assert bound_node({0}, system) == 0
    assert bound_node({1, 2}, system) is None
    assert bound_node({0}, write(tmp_path / "one", {"node/node0/cpulist": "0-7"})) is None


def test_a_container_may_share_cpus_unless_it_has_a_part_of_them(tmp_path: Path) -> None:
    system = two_nodes(tmp_path)
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    mark = write(tmp_path, {".dockerenv": ""}) / ".dockerenv"
    assert may_share_cpus(range(8), system, pod, [])
    assert may_share_cpus(range(8), system, {}, [mark])
    assert not may_share_cpus({2, 3}, system, pod, [mark])
    assert not may_share_cpus(range(8), system, {}, [tmp_path / "missing"])


def test_all_threads_of_the_process_are_pinned() -> None:
    before = os.sched_getaffinity(0)
    some = {min(before)}
    must_end, seen = threading.Event(), threading.Event()
    affinities = []

    def wait() -> None:
        seen.set()
        must_end.wait(60)
        affinities.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=wait)
    thread.start()
    seen.wait(60)
    try:
        pin_threads(some)
        must_end.set()
        thread.join(60)
        assert affinities == [some]
        assert os.sched_getaffinity(0) == some
    finally:
        pin_threads(before)

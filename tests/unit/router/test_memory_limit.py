"""The memory limit of the router's processes: one that stays near it ends, and is started again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cactus_actors.router.process.memory_limit import EXIT_CODE, STATUS

LIMITED = """
import mmap, sys
from cactus_actors.router.process.memory_limit import MemoryLimitWatch, limit_memory
limit_memory(1 << 30)
watch = MemoryLimitWatch()
watch.on_tick(0.0)
blocks = []
try:
    while True:
        blocks.append(mmap.mmap(-1, 1 << 22, flags=mmap.MAP_PRIVATE))  # counted, and not touched
except OSError:
    pass
watch.on_tick(1.0)
if sys.argv[1] == "frees":
    blocks.clear()
    watch.on_tick(3.0)
watch.on_tick(6.5)
"""


@pytest.mark.skipif(not Path(STATUS).exists(), reason="the limit needs /proc")
@pytest.mark.parametrize(("then", "status"), [("stays", EXIT_CODE), ("frees", 0)])
def test_a_process_that_stays_near_its_limit_ends(then: str, status: int) -> None:
    assert subprocess.run([sys.executable, "-c", LIMITED, then], timeout=60).returncode == status


NO_DESCRIPTORS = """
import os, resource
from cactus_actors.router.process.memory_limit import MemoryLimitWatch, limit_memory
limit_memory(1 << 30)
watch = MemoryLimitWatch()
resource.setrlimit(resource.RLIMIT_NOFILE, (os.open("/", os.O_RDONLY), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
watch.on_tick(0.0)
"""


@pytest.mark.skipif(not Path(STATUS).exists(), reason="the limit needs /proc")
def test_a_process_without_free_file_descriptors_is_watched() -> None:
    assert subprocess.run([sys.executable, "-c", NO_DESCRIPTORS], timeout=60).returncode == 0

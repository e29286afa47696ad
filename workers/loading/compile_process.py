"""A second process that compiles the sampler while the worker compiles the step.

Step and sampler take about the same time to compile. numba compiles on one thread of a process; a second
process halves the wait and leaves its machine code in the numba cache.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from contextlib import AbstractContextManager

from cactus_actors.process.parent_death import end_with_parent
from cactus_actors.protocol.errors import CactusError
from cactus_actors.workers.loading.compile_events import watch_compilation


class CompileProcess:
    """Starts the process when this one begins to compile, and ends it.

    A worker that needs the sampler waits for the lock of its cache (`compile_lock`) and compiles it itself if
    the process failed.
    """

    def __init__(self, num_cpus: int | None = None) -> None:
        self._num_cpus = (os.cpu_count() or 1) if num_cpus is None else num_cpus
        self.process: subprocess.Popen[bytes] | None = None

    def start_on_compile(self) -> AbstractContextManager[None]:
        """Start the process when numba compiles something that is not in its cache."""
        return watch_compilation(lambda *_: self.start())

    def start(self) -> None:
        """Start the process once; not on a machine with one CPU."""
        if self.process is None and self._num_cpus > 1:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "cactus_actors.workers.loading.compile_process", str(os.getpid())],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )

    def end(self) -> None:
        """End the process if it still runs."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def main() -> None:
    end_with_parent(int(sys.argv[1]))
    from cactus_actors.workers.engine.sampler import Sampler

    with contextlib.suppress(CactusError):  # the worker gets and reports the same error
        Sampler([])


if __name__ == "__main__":
    main()

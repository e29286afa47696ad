"""Silent connections with and without a shortage of file descriptors."""

from __future__ import annotations

import subprocess
import sys

import pytest

# In a separate process: it closes descriptors, and lowers their limit.
LOOK_TWICE = """
import os, resource, socket, sys
from collections import Counter
from cactus_actors.router.auth.fd_pressure import FdPressure

listener = socket.create_server(("127.0.0.1", 0))
connection = socket.create_connection(listener.getsockname())
accepted, _ = listener.accept()
if sys.argv[1] == "crowded":
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
else:
    os.close(0)
refused = Counter()
pressure = FdPressure(lambda descriptor, inode: False, refused)
pressure.watch([f"tcp://127.0.0.1:{listener.getsockname()[1]}"])
for now in (0.0, 1.0):
    pressure.on_tick(now)
print(refused["silent"])
"""


@pytest.mark.parametrize(("how", "num_closed"), [("crowded", 1), ("without standard input", 0)])
def test_silent_connections_are_closed_only_while_file_descriptors_run_out(how: str, num_closed: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK_TWICE, how], capture_output=True, text=True, check=True, timeout=60
    )
    assert int(done.stdout) == num_closed

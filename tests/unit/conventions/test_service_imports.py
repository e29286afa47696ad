"""`cactus serve` imports the modules that place actors, and none of the libraries that actors compute with."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("ray", "numba", "numpy", "litestar", "tokenizers", "llguidance", "jinja2", "gguf", "httpx")


def test_a_service_of_local_actors_imports_none_of_their_libraries() -> None:
    program = "import sys, cactus_actors.service.service as _; print(*sys.modules)"
    imported = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "cactus_actors.placement.local" in imported
    assert set(HEAVY) & set(imported) == set()

"""A process imports only the modules that it needs, since imports cost start time and memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

NOWHERE = {"ray", "numba", "gguf"}


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("cactus_actors.router.actor", {"numpy", "llguidance", "asyncio", "litestar", "httpx"}),
        ("cactus_actors.gateway.actor", {"numpy", "llguidance", "httpx"}),
        ("cactus_actors.handoff.actor", {"numpy", "tokenizers", "litestar"}),
        ("cactus_actors.workers.actor", {"numpy", "asyncio", "litestar", "httpx"}),
        ("cactus_actors.router.preparation.preparer_child", {"numpy", "llguidance", "asyncio", "litestar", "httpx"}),
        ("cactus_actors.service.service", {"numpy", "tokenizers", "asyncio", "litestar", "httpx"}),
    ],
)
def test_an_actor_loads_no_more_than_it_needs(module: str, without: set[str]) -> None:
    program = f"import {module}, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (NOWHERE | without) & {*loaded.stdout.split()} == set()

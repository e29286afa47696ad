"""Workers as a router shows them."""

from __future__ import annotations

from cactus_actors.protocol.service_status import WorkerStatus


def worker_named(worker_id: str, node: str = "a-node-with-a-rather-long-name.example") -> WorkerStatus:
    """A worker that runs some sequences."""
    return WorkerStatus(
        worker_id=worker_id,
        kind="local",
        node=node,
        pid=4194304,
        threads=2,
        kernels="avx512-vnni",
        weights="int8",
        state="ready",
        num_slots=16,
        free_slots=3,
        num_blocks=2048,
        free_blocks=100,
        num_running=13,
        last_seen_s=0.25,
        tokens_generated=123456,
        prompt_tokens_computed=1,
        cached_prompt_tokens=7,
        queried_prompt_tokens=28,
        preemptions=0,
    )

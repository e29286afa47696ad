"""What a private Ray is told by the environment: it reads it once, in each process where it is imported."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

from cactus_actors.placement.ray.ray_token import make_token

RAY_TIMEOUTS = {
    # All of Ray runs here, and its end is noticed at once: who does not answer is slow and not gone.
    "worker_register_timeout_seconds": 600,
    "agent_register_timeout_ms": 600_000,
    "gcs_server_request_timeout_seconds": 600,
    "gcs_rpc_server_connect_timeout_s": 600,
    "gcs_rpc_server_reconnect_timeout_s": 600,
    "raylet_start_wait_time_s": 600,
    "health_check_timeout_ms": 600_000,
    # Nobody looks at its tasks; with them a driver waits 5 s for a server that is gone.
    "task_events_report_interval_ms": 0,
}
SETTINGS = {
    # Ray runs its workers at nice 15: router and models would wait for everything else on the machine.
    "RAY_worker_niceness": "0",
    # Its autoscaler serves its metrics to everybody, without a token, unless there can be no such port.
    "AUTOSCALER_METRIC_PORT": "-1",
    "RAY_gcs_server_port_wait_time_s": "600",
    **{f"RAY_{name}": str(value) for name, value in RAY_TIMEOUTS.items()},
}


def prepare_environment(state_dir: Path, environment: MutableMapping[str, str] = os.environ) -> None:
    """Before `import ray`: its token, and its settings but for those that the environment has already.

    Raises ConfigurationInvalid as `make_token`.
    """
    make_token(state_dir, environment)
    for name, value in SETTINGS.items():
        environment.setdefault(name, value)

"""Environment variables for a private Ray, which reads them when it is imported."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

from cactus_actors.placement.ray.ray_token import make_token

RAY_TIMEOUTS = {
    # All of Ray runs on this machine and its end is noticed at once: a missing answer means it is slow.
    "worker_register_timeout_seconds": 600,
    "agent_register_timeout_ms": 600_000,
    "gcs_server_request_timeout_seconds": 600,
    "gcs_rpc_server_connect_timeout_s": 600,
    "gcs_rpc_server_reconnect_timeout_s": 600,
    "raylet_start_wait_time_s": 600,
    "health_check_timeout_ms": 600_000,
    # Task events are not used; with them a driver waits 5 s for an ended server.
    "task_events_report_interval_ms": 0,
}
SETTINGS = {
    # Ray runs its workers at nice 15, after everything else on the machine.
    "RAY_worker_niceness": "0",
    # The autoscaler serves metrics to everybody without a token, unless its port is invalid.
    "AUTOSCALER_METRIC_PORT": "-1",
    "RAY_gcs_server_port_wait_time_s": "600",
    **{f"RAY_{name}": str(value) for name, value in RAY_TIMEOUTS.items()},
}


def prepare_environment(state_dir: Path, environment: MutableMapping[str, str] = os.environ) -> None:
    """Set Ray's token and settings before `import ray`; variables that are set already are kept.

    Raises ConfigurationInvalid like `make_token`.
    """
    make_token(state_dir, environment)
    for name, value in SETTINGS.items():
        environment.setdefault(name, value)

"""A Ray cluster that grows and shrinks on this machine, and a machine of its own for it."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

from ray.cluster_utils import AutoscalingCluster

from tests.support.paths import ROOT
from tests.support.processes.ray_server import START_ATTEMPTS

STORE_BYTES = 80 << 20
# Processes of its own: starting and ending such a cluster ends every Ray on the machine.
_OWN_MACHINE = """
set -e
ip link set lo up
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
"$@"
"""


def run_alone(module: str, directory: Path, timeout_s: float) -> str:
    """Run a module with one argument, a short path, where it sees no other process; needs root. Returns its output."""
    alone = ["unshare", "--net", "--pid", "--mount", "--ipc", "--fork", "--kill-child", "--mount-proc"]
    command = [*alone, "sh", "-c", _OWN_MACHINE, "sh", sys.executable, "-m", module, str(directory)]
    token = directory / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    environment = {
        **os.environ,
        "RAY_worker_niceness": "0",
        "AUTOSCALER_METRIC_PORT": "-1",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",  # Ray is started as the command `ray`
        "PYTHONPATH": str(ROOT),  # Ray's autoscaler imports FakeNodes
        "TMPDIR": str(directory),
        "RAY_TMPDIR": str(directory),
        "RAY_AUTH_MODE": "token",  # Ray reads it when it is imported
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    with (directory / "errors").open("w+") as errors:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True, timeout=timeout_s, check=False
        )
        errors.seek(0)
        assert done.returncode == 0, done.stdout + errors.read()
    return done.stdout


class _GrowingCluster(AutoscalingCluster):
    """Ray's own class needs a file that Ray's packages lack."""

    def _generate_config(self, head_resources: Any, worker_node_types: Any, *_: Any, **more: Any) -> dict[str, Any]:
        nothing: list[str] = []
        return {
            "cluster_name": "growing",
            "max_workers": 8,
            "upscaling_speed": 1.0,
            "provider": {
                "type": "external",
                "module": "tests.support.processes.fake_nodes.FakeNodes",
                "use_node_id_as_ip": True,
                "disable_node_updaters": True,
                "disable_launch_config_check": True,
                "foreground_node_launch": True,
            },
            "available_node_types": {
                **worker_node_types,
                "ray.head.default": {"resources": head_resources, "node_config": {}, "max_workers": 0},
            },
            "head_node_type": "ray.head.default",
            "auth": {},
            "docker": {},
            "file_mounts": {},
            **dict.fromkeys(("cluster_synced_files", "rsync_exclude", "rsync_filter"), nothing),
            **{f"{when}_commands": nothing for when in ("initialization", "setup", "head_setup", "worker_setup")},
            **{f"{node}_start_ray_commands": nothing for node in ("head", "worker")},
            "file_mounts_sync_continuously": False,
            **more,
        }


def start_growing_cluster(*, max_nodes: int, cpus: int, idle_s: float) -> None:
    """Start a head without CPUs, to join as `auto`, which brings nodes, and ends those that were idle for `idle_s`.

    It ends with its machine.
    """
    node = {"resources": {"CPU": cpus, "object_store_memory": STORE_BYTES}, "node_config": {}}
    for attempt in range(START_ATTEMPTS):
        cluster = _GrowingCluster(
            head_resources={"CPU": 0, "object_store_memory": STORE_BYTES},
            worker_node_types={"node": {**node, "min_workers": 0, "max_workers": max_nodes}},
            idle_timeout_minutes=idle_s / 60,
        )
        try:
            cluster.start()
            break
        except subprocess.CalledProcessError:
            if attempt + 1 == START_ATTEMPTS:
                raise

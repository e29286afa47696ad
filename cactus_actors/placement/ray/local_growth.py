"""How a private Ray adds nodes on this machine, in place of other machines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UPDATE_INTERVAL_S = 1


@dataclass(frozen=True, kw_only=True)
class LocalGrowth:
    """At most `max_nodes` of `num_cpus` beside the first one; those without work for `idle_s` end."""

    max_nodes: int
    num_cpus: int = 1
    idle_s: float = 30.0

    def options(self, directory: Path, object_store_bytes: int) -> list[str]:
        """Those of `ray start`, whose file is written to a directory."""
        path = directory / "autoscaling.json"
        path.write_text(json.dumps(self._configuration(object_store_bytes)))
        return [f"--autoscaling-config={path}"]

    @property
    def environment(self) -> dict[str, str]:
        """That of `ray start`."""
        return {
            "RAY_FAKE_CLUSTER": "1",
            "AUTOSCALER_UPDATE_INTERVAL_S": str(UPDATE_INTERVAL_S),
            # A node that cannot be reached, which a slow one can, is lost after three seconds.
            "RAY_health_check_period_ms": "1000",
            "RAY_health_check_failure_threshold": "3",
        }

    def _configuration(self, object_store_bytes: int) -> dict[str, Any]:
        """As ray.cluster_utils.AutoscalingCluster makes it, which ends every other Ray of this machine at its start."""
        added = {
            "resources": {"CPU": self.num_cpus, "object_store_memory": object_store_bytes},
            "node_config": {},
            "min_workers": 0,
            "max_workers": self.max_nodes,
        }
        first: dict[str, Any] = {"resources": {}, "node_config": {}, "max_workers": 0}
        commands = ("initialization", "setup", "head_setup", "worker_setup", "head_start_ray", "worker_start_ray")
        return {
            "cluster_name": "local",
            "max_workers": self.max_nodes,
            "upscaling_speed": float(self.max_nodes),
            "idle_timeout_minutes": self.idle_s / 60,
            "provider": {
                "type": "external",
                "module": "cactus_actors.placement.ray.local_nodes.LocalNodes",
                "use_node_id_as_ip": True,
                "disable_node_updaters": True,
                "disable_launch_config_check": True,
                "foreground_node_launch": True,
            },
            "available_node_types": {"added": added, "ray.head.default": first},
            "head_node_type": "ray.head.default",
            **{f"{name}_commands": [] for name in commands},
            **{name: {} for name in ("auth", "docker", "file_mounts")},
            **{name: [] for name in ("cluster_synced_files", "rsync_exclude", "rsync_filter")},
            "file_mounts_sync_continuously": False,
        }

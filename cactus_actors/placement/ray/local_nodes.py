"""Nodes that Ray's autoscaler starts and ends on this machine; its own process imports this file."""

from __future__ import annotations

from typing import Any

from ray.autoscaler._private.fake_multi_node.node_provider import FakeMultiNodeProvider
from ray.experimental.internal_kv import internal_kv_get_gcs_client


class LocalNodes(FakeMultiNodeProvider):
    """Ray's own, for a Ray at any port; a node that was killed is given up at once, as by a cloud."""

    def __init__(self, provider_config: dict[str, Any], cluster_name: str) -> None:
        address = internal_kv_get_gcs_client().address  # type: ignore[no-untyped-call]
        super().__init__({**provider_config, "gcs_address": address}, cluster_name)

    def non_terminated_nodes(self, tag_filters: dict[str, str]) -> list[str]:
        """The nodes that run."""
        with self.lock:
            nodes: dict[str, Any] = self._nodes
            for node_id, node in [*nodes.items()]:
                if "node" in node and node["node"].dead_processes():
                    self.terminate_node(node_id)  # type: ignore[no-untyped-call]
        running: list[str] = super().non_terminated_nodes(tag_filters)  # type: ignore[no-untyped-call]
        return running

    def _terminate_node(self, node: dict[str, Any]) -> None:
        node["node"].kill_all_processes(check_alive=False, allow_graceful=False)

"""The nodes of a cluster whose workers leave."""

from __future__ import annotations

import msgspec


class LeavingNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node: its id in the cluster, its host name, and when it ends on the service's clock; None if it stays."""

    node_id: str
    node: str
    ends_at: float | None = None


class LeavingNodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A node whose workers leave, the number of those that are still there, and the seconds until the node ends."""

    node_id: str
    node: str
    num_workers: int
    ends_in_s: float | None = None

"""The node of a cluster that a process runs on, as its placement names it."""

from __future__ import annotations

import os
import socket

VARIABLE = "CACTUS_NODE_ID"
"""The environment variable that a placement sets in the process of an actor."""


def node_id() -> str:
    """The placement's id of this node; empty where actors run on one machine only."""
    return os.environ.get(VARIABLE, "")


def place_of(node: str, node_id: str) -> str:
    """What counts as one node: its id, or its host name where it has none."""
    return node_id or node


def own_place() -> str:
    """The node of this process, as in `place_of`."""
    return place_of(socket.gethostname(), node_id())

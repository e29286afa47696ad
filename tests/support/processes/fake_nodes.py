"""Nodes that Ray's autoscaler starts and ends on this machine."""

from __future__ import annotations

import functools
from typing import Any
from unittest import mock

from ray._private import parameter
from ray.autoscaler._private.fake_multi_node.node_provider import FakeMultiNodeProvider


class FakeNodes(FakeMultiNodeProvider):
    """Ray's fake nodes without the process that copies logs: a node must be up within seconds, also on a busy core."""

    def _create_node_with_resources_and_labels(self, *arguments: Any) -> None:
        quick = functools.partial(parameter.RayParams, include_log_monitor=False)  # type: ignore[arg-type]  # it is a bool
        with mock.patch.object(parameter, "RayParams", quick):
            super()._create_node_with_resources_and_labels(*arguments)  # type: ignore[no-untyped-call]

"""A Ray cluster of two nodes on this machine, to demonstrate the loss of one."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from cactus_actors.placement.ray import ray_session
from cactus_actors.placement.ray.added_node import AddedNode
from cactus_actors.placement.ray.private_ray import PrivateRay
from cactus_actors.placement.ray.ray_output import RayOutput
from cactus_actors.placement.ray.shared_memory import check_shared_memory


class PrivateCluster:
    """Ends with this process, however that ends. Until it is closed this process is connected to it.

    The first node has CPUs for all of `num_workers` but one, which is placed on `added`. Ray's output goes to a file
    in `state_dir`. `prepare_environment` must have been called. Raises like PrivateRay, and Ray's own errors.
    """

    def __init__(self, num_workers: int, state_dir: Path, announce: Callable[[str], None]) -> None:
        check_shared_memory()
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(contextlib.closing(RayOutput(state_dir, announce, sys.stdout)))
            stack.enter_context(contextlib.redirect_stdout(output))
            first = PrivateRay(output, announce, num_workers - 1)
            stack.callback(first.close)
            self.address = first.address
            ray_session.connect(first.address)  # before a second node exists that Ray could choose
            stack.callback(ray_session.disconnect)
            self.added = AddedNode(first.address, 1, output)
            stack.callback(self.added.kill)
            self._closing = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.close()

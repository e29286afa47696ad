"""The workers of a service: started, health-checked and replaced as the fleet policy plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from cactus_actors.fleet.actor_handle import (
    DEFAULT_HEALTH_TIMEOUTS,
    HEALTH_INTERVAL_S,
    MAX_STEP_S,
    ActorHandle,
    HealthTimeouts,
)
from cactus_actors.fleet.fleet import UNLIMITED, DrainWorker, Fleet, StartWorker, StopWorker
from cactus_actors.fleet.start_phases import StartPhase
from cactus_actors.placement.interface import Actor, ActorExit, PlacementLost
from cactus_actors.process.health import WorkerHealth
from cactus_actors.process.starvation import FairSeconds
from cactus_actors.protocol.errors import Unavailable

LOADING_INTERVAL_S = 0.2
MAX_LOSSES_PER_WORKER = 2
"""Workers that may be lost before one is ready, for each desired worker: a node may have just died."""
ENDED_BY_PLAN = ("drained", "stopped")
STALLED_AFTER_S = 2.0
"""A main loop without an iteration for longer is timed with FairSeconds."""


class WorkerPool:
    """Carries out the plans of a Fleet; time is an argument.

    `launch` places a worker of a given name and calls its `run`; `on_lost` is called for each failed worker, and
    `on_load_failed`, with the reason, if no worker gets ready: one has ended with an error, or two in place of each
    desired one were lost. `loading` holds the start phase of each worker that is not ready. The names of workers begin
    with `prefix`.
    """

    def __init__(
        self,
        desired: int,
        launch: Callable[[str], Actor],
        on_lost: Callable[[str], None],
        announce: Callable[[str], None],
        timeouts: HealthTimeouts = DEFAULT_HEALTH_TIMEOUTS,
        *,
        prefix: str = "worker",
        on_load_failed: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._timeouts = timeouts
        self.fleet = Fleet(desired=desired, prefix=prefix)
        self._launch = launch
        self._on_lost = on_lost
        self._on_load_failed = on_load_failed
        self._num_lost_loading = 0
        self._announce = announce
        self._handles: dict[str, ActorHandle] = {}
        self._nodes: dict[str, str] = {}
        self._node_ids: dict[str, str] = {}
        self._ending: frozenset[str] = frozenset()
        self.loading: dict[str, StartPhase] = {}
        self._stalled: dict[str, FairSeconds] = {}
        """For each worker with a stalled main loop: the seconds in which it could have run."""

    @property
    def actors(self) -> list[Actor]:
        """All launched actors that have not been seen to end."""
        return [handle.actor for handle in self._handles.values()]

    @property
    def loading_actors(self) -> list[Actor]:
        """The launched actors that are not ready."""
        return [self._handles[worker_id].actor for worker_id in self.loading]

    @property
    def num_by_node(self) -> Counter[str]:
        """The number of launched actors on each node that they do not leave."""
        return Counter(node for worker_id, node in self._nodes.items() if not self._leaves(worker_id))

    @property
    def num_unplaced(self) -> int:
        """The number of launched actors whose node is not known yet."""
        return len(self._handles) - len(self._nodes)

    @property
    def node_ids(self) -> set[str]:
        """The ids of the nodes that launched actors are on, as far as they are known."""
        return set(self._node_ids.values())

    def leave(self, ending: Mapping[str, bool]) -> None:
        """Replace the workers of the nodes of these ids on others; True if the node is about to end.

        Workers that still wait for a place are launched anew when the nodes change: an actor avoids for ever those
        nodes that were avoided when it was launched.
        """
        if self._ending != ending.keys():
            self._ending = frozenset(ending)
            for worker_id in [it for it, handle in self._handles.items() if not handle.actor.is_placed]:
                self._withdraw(worker_id, "found no place before the drained nodes changed")
        self.fleet.leave({it: ending[node_id] for it, node_id in self._node_ids.items() if node_id in ending})

    def _leaves(self, worker_id: str) -> bool:
        return self._node_ids.get(worker_id) in self._ending

    def want(self, desired: int) -> None:
        """Set the desired number of workers."""
        if not desired:
            self._num_lost_loading = 0
        self.fleet.desired = desired

    def unreported_exits(self) -> list[ActorExit]:
        """Exits that `reconcile` has not handled yet."""
        return [it for handle in self._handles.values() if (it := handle.actor.exit_info()) is not None]

    def reconcile(self, now: float, ready: Sequence[str], max_starts: int = UNLIMITED) -> None:
        """Replace failed and hanging workers and follow the plan, with at most `max_starts` more workers.

        `ready` names the workers that take jobs.

        Raises PlacementLost.
        """
        for worker_id in list(self._handles):
            self._reconcile_one(worker_id, now)
        self._apply_plan(now, ready, max_starts)

    def _apply_plan(self, now: float, ready: Sequence[str], max_starts: int) -> None:
        for action in self.fleet.plan(now, ready, max_starts):
            match action:
                case StartWorker(worker_id):
                    self._start(worker_id, now)
                case DrainWorker(worker_id):
                    self._end(worker_id, "drain", f"{worker_id} drains")
                case StopWorker(worker_id):
                    self._end(worker_id, "stop", f"{worker_id} leaves its node")

    def _end(self, worker_id: str, how: str, line: str) -> None:
        """Let a worker end itself; one that still waits for a place asks for it no more."""
        actor = self._handles[worker_id].actor
        if actor.is_placed:
            actor.notify(how)
            self._announce(line)
            return
        self._withdraw(worker_id, "is not needed any more")

    def _withdraw(self, worker_id: str, why: str) -> None:
        """Ask no more for a place of a worker that has none."""
        self._handles.pop(worker_id).actor.terminate()
        self.fleet.on_left(worker_id)
        del self.loading[worker_id]
        self._announce(f"{worker_id} {why}")

    def _start(self, worker_id: str, now: float) -> None:
        try:
            self._handles[worker_id] = ActorHandle(self._launch(worker_id), self._timeouts)
            self.loading[worker_id] = StartPhase(worker_id, "placing")
        except PlacementLost:
            raise
        except Unavailable as error:
            delay = self.fleet.on_died(worker_id, now)
            self._announce(f"{worker_id} did not start: {error.message}; a new one in {delay:.0f} s")
        else:
            self._announce(f"{worker_id} starts")

    def _reconcile_one(self, worker_id: str, now: float) -> None:
        handle = self._handles[worker_id]
        is_loading = worker_id in self.loading
        health = handle.health(now, LOADING_INTERVAL_S if is_loading else HEALTH_INTERVAL_S)
        if health is not None:
            self._nodes[worker_id], self._node_ids[worker_id] = health.node, health.node_id
            if is_loading:
                self._note_loading(worker_id, health)
        if exit_info := handle.actor.exit_info():
            del self._handles[worker_id]
            self._nodes.pop(worker_id, None)
            self._node_ids.pop(worker_id, None)
            self._stalled.pop(worker_id, None)
            was_loading = self.loading.pop(worker_id, None) is not None
            self._on_ended(worker_id, exit_info, now)
            if was_loading:
                self._on_ended_loading(exit_info)
            handle.actor.terminate()
        elif handle.is_hung(now) or self._is_stuck(worker_id, health, now):
            self._announce(f"{worker_id} does not answer; it is killed")
            handle.actor.terminate()

    def _note_loading(self, worker_id: str, health: WorkerHealth) -> None:
        if health.state == "loading":
            self.loading[worker_id] = StartPhase(
                worker_id, health.phase, health.share_done, health.num_compiled, health.compiling
            )
        else:
            del self.loading[worker_id]
            self._num_lost_loading = 0

    def _on_ended(self, worker_id: str, exit_info: ActorExit, now: float) -> None:
        if exit_info.reason in ENDED_BY_PLAN:
            self.fleet.on_left(worker_id)
            self._announce(f"{worker_id} left")
            return
        delay = self.fleet.on_died(worker_id, now)
        self._announce(
            f"{worker_id} ended ({exit_info.reason}); its jobs continue on other workers, a new one in {delay:.0f} s"
        )
        self._on_lost(worker_id)

    def _on_ended_loading(self, exit_info: ActorExit) -> None:
        self._num_lost_loading += exit_info.is_lost
        is_given_up = self._num_lost_loading >= MAX_LOSSES_PER_WORKER * self.fleet.desired
        if exit_info.reason not in ENDED_BY_PLAN and (is_given_up or not exit_info.is_lost):
            self._num_lost_loading = 0
            self._on_load_failed(exit_info.reason)

    def _is_stuck(self, worker_id: str, health: WorkerHealth | None, now: float) -> bool:
        """True if the main loop has stopped although other threads of the worker answer.

        `health` is None if there is no new information.
        """
        still = self._stalled.get(worker_id)
        if health is not None and (health.state == "loading" or health.last_tick_s < STALLED_AFTER_S):
            self._stalled.pop(worker_id, None)
        elif still is not None:
            return still.elapsed(now) > self._timeouts.stuck_s - STALLED_AFTER_S
        elif health is not None:
            pid = self._handles[worker_id].actor.pid
            self._stalled[worker_id] = FairSeconds(pid, now, MAX_STEP_S)
        return False

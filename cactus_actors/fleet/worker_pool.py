"""The workers of a service: as many as are wished for, watched and replaced."""

from __future__ import annotations

from collections.abc import Callable, Collection

from cactus_actors.fleet.actor_handle import HEALTH_INTERVAL_S, MAX_STEP_S, Watched
from cactus_actors.fleet.fleet import DrainWorker, Fleet, StartWorker
from cactus_actors.fleet.start_phases import StartPhase
from cactus_actors.placement.interface import Actor, Ending, PlacementLost
from cactus_actors.process.health import WorkerHealth
from cactus_actors.process.starvation import FairSeconds
from cactus_actors.protocol.errors import Unavailable

STUCK_AFTER_S = 20.0
"""A step is kept shorter than a heartbeat; a worker that shares its core with many others takes longer."""
LOADING_INTERVAL_S = 0.2
STILL_AFTER_S = 2.0
"""A loop that has not turned for longer is looked at more closely."""


class Workers:
    """Carries out what a Fleet plans; time is an argument.

    `launch` places a worker of that name and begins its `run`; `on_lost` is told of each that is gone
    without a goodbye. `loading` is what each that is not ready yet does.
    """

    def __init__(
        self,
        desired: int,
        launch: Callable[[str], Actor],
        on_lost: Callable[[str], None],
        announce: Callable[[str], None],
    ) -> None:
        self.fleet = Fleet(desired=desired)
        self._launch = launch
        self._on_lost = on_lost
        self._announce = announce
        self._watched: dict[str, Watched] = {}
        self.loading: dict[str, StartPhase] = {}
        self._still: dict[str, FairSeconds] = {}
        """Of each worker whose loop stands still: the seconds in which it could have turned."""

    @property
    def actors(self) -> list[Actor]:
        """All that were launched and not seen to end."""
        return [watched.actor for watched in self._watched.values()]

    def endings(self) -> list[Ending]:
        """How those ended that nobody has tended since."""
        endings = (watched.ending() for watched in self._watched.values())
        return [ending for ending in endings if ending is not None]

    def tend(self, now: float, ready: Collection[str]) -> None:
        """Replace those that died or hang, and follow the plan; `ready` are those that take jobs.

        Raises PlacementLost.
        """
        for worker_id in list(self._watched):
            self._tend_one(worker_id, now)
        self._apply_plan(now, ready)

    def _apply_plan(self, now: float, ready: Collection[str]) -> None:
        for action in self.fleet.plan(now, ready):
            match action:
                case StartWorker(worker_id):
                    self._start(worker_id, now)
                case DrainWorker(worker_id):
                    self._watched[worker_id].actor.tell("drain")
                    self._announce(f"{worker_id} drains")

    def _start(self, worker_id: str, now: float) -> None:
        try:
            self._watched[worker_id] = Watched(self._launch(worker_id))
            self.loading[worker_id] = StartPhase(worker_id, "placing")
        except PlacementLost:
            raise
        except Unavailable as error:
            delay = self.fleet.on_died(worker_id, now)
            self._announce(f"{worker_id} did not start: {error.message}; a new one in {delay:.0f} s")
        else:
            self._announce(f"{worker_id} starts")

    def _tend_one(self, worker_id: str, now: float) -> None:
        watched = self._watched[worker_id]
        is_loading = worker_id in self.loading
        health = watched.health(now, LOADING_INTERVAL_S if is_loading else HEALTH_INTERVAL_S)
        if health is not None and is_loading:
            self._note_loading(worker_id, health)
        if ending := watched.ending():
            del self._watched[worker_id]
            self._still.pop(worker_id, None)
            self.loading.pop(worker_id, None)
            self._on_ended(worker_id, ending, now)
            watched.actor.end()
        elif watched.is_hung(now) or self._is_stuck(worker_id, health, now):
            self._announce(f"{worker_id} does not answer; it is ended")
            watched.actor.end()

    def _note_loading(self, worker_id: str, health: WorkerHealth) -> None:
        if health.state == "loading":
            self.loading[worker_id] = StartPhase(worker_id, health.phase, health.share_done)
        else:
            del self.loading[worker_id]

    def _on_ended(self, worker_id: str, ending: Ending, now: float) -> None:
        if ending.reason == "drained":
            self.fleet.on_left(worker_id)
            self._announce(f"{worker_id} left")
            return
        delay = self.fleet.on_died(worker_id, now)
        self._announce(f"{worker_id} ended ({ending.reason}); its jobs go on elsewhere, a new one in {delay:.0f} s")
        self._on_lost(worker_id)

    def _is_stuck(self, worker_id: str, health: WorkerHealth | None, now: float) -> bool:
        """Whether the loop of a worker whose other threads still answer has stopped.

        `health` is None where there is no news of it.
        """
        still = self._still.get(worker_id)
        if health is not None and (health.state == "loading" or health.last_tick_s < STILL_AFTER_S):
            self._still.pop(worker_id, None)
        elif still is not None:
            return still.look(now) > STUCK_AFTER_S - STILL_AFTER_S
        elif health is not None:
            pid = self._watched[worker_id].actor.pid
            self._still[worker_id] = FairSeconds(pid, now, MAX_STEP_S)
        return False

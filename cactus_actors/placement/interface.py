"""What the service asks of a placement, whether that is `local` or `ray`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cactus_actors.protocol.errors import CactusError, Unavailable


class ActorLost(Unavailable):
    """The actor's process, or the node that it was to run on, is gone without a word."""


class PlacementLost(Unavailable):
    """Nothing can be placed any more: the service ends, and finds its jobs when it is started again."""


@dataclass(frozen=True)
class ActorKind:
    """A class of actors, by where it is imported from; whoever places it need not import it.

    Its constructor takes its settings, a msgspec struct. `answers` has the types that its methods return,
    by their names; the others return nothing. `run` lasts as long as the actor and returns why it ended.
    """

    module: str
    name: str
    answers: Mapping[str, Any]

    def answer_type(self, method: str) -> Any:
        """What `method` returns."""
        return str if method == "run" else self.answers.get(method, type(None))


@dataclass(frozen=True)
class ActorExit:
    """How an actor ended: `error` is what its `run` raised, an ActorLost if nothing told why."""

    reason: str
    error: CactusError | None = None

    @property
    def is_lost(self) -> bool:
        """Whether its process, or the node that it was to run on, is gone without a word."""
        return isinstance(self.error, ActorLost)


class ActorFuture(Protocol):
    """An actor's answer to a call, which may be still to come."""

    def done(self) -> bool:
        """Whether `value` returns or raises at once."""

    def result(self, timeout_s: float) -> Any:
        """What the method returned.

        Raises the CactusError that the method raised, one of type `server_error` for any other exception of
        it, ActorLost, and Unavailable when no answer comes within the time.
        """


class Actor(Protocol):
    """One placed actor; every method may be called from any thread, and but for `end` none waits for it."""

    @property
    def is_placed(self) -> bool:
        """Whether it has a process: one that waits for a free CPU owes no answer."""

    @property
    def pid(self) -> int | None:
        """Its process on this machine, as far as that is known."""

    def run(self, *arguments: object) -> None:
        """Begin its `run`, after what was asked of it before."""

    def ask(self, method: str, *arguments: object) -> ActorFuture:
        """Call a method beside its `run`; `start` is called in the thread of `run`, before it."""

    def notify(self, method: str, *arguments: object) -> None:
        """Call a method whose answer does not matter, nor whether the actor still lives."""

    def exit_info(self) -> ActorExit | None:
        """How it ended; None while it lives."""

    def terminate(self) -> None:
        """End its process and all that it started, and wait for that a little: what it holds gets free."""


class Placement(Protocol):
    """Places actors and ends all of them with itself."""

    def start(self, kind: ActorKind, settings: object, *, name: str, num_cpus: int | None = None) -> Actor:
        """Place an actor; `name` is for people.

        Without `num_cpus` it runs on this machine, otherwise wherever so many CPUs are free. Raises
        Unavailable if it cannot be placed now, and PlacementLost.
        """

    def workers_endpoint(self) -> str:
        """Where the router listens for workers unless the configuration says."""

    def can_start(self, now: float) -> bool:
        """Whether actors can be placed just now; raises PlacementLost."""

    def close(self) -> None:
        """End every actor; a second time changes nothing."""

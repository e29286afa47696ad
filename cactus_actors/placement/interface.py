"""The interface of a placement, which `local` and `ray` implement."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cactus_actors.process.leaving_node import LeavingNode
from cactus_actors.protocol.errors import CactusError, Unavailable


class ActorLost(Unavailable):
    """The actor's process or its node was lost without an error message."""


class PlacementLost(Unavailable):
    """No actor can be placed any more: the service ends, and recovers its jobs from the journal after a restart."""


@dataclass(frozen=True)
class ActorKind:
    """An actor class, named by module so that the placement need not import it.

    Its constructor takes its settings, a msgspec struct. `answers` maps method names to return types; other methods
    return nothing. `run` lasts as long as the actor and returns why it ended.
    """

    module: str
    name: str
    answers: Mapping[str, Any]

    def answer_type(self, method: str) -> Any:
        return str if method == "run" else self.answers.get(method, type(None))


@dataclass(frozen=True)
class ActorExit:
    """The exit of an actor: `error` is that of its `run`, or ActorLost if the process was lost."""

    reason: str
    error: CactusError | None = None

    @property
    def is_lost(self) -> bool:
        """True if its process or its node was lost without an error message."""
        return isinstance(self.error, ActorLost)


class ActorFuture(Protocol):
    """The result of a call to an actor, which may be pending."""

    def done(self) -> bool:
        """True if `result` returns or raises immediately."""

    def result(self, timeout_s: float) -> Any:
        """Wait for the method's return value.

        Raises the CactusError of the method, ServerFailure for any other exception, ActorLost, and Unavailable
        after `timeout_s` seconds.
        """


class Actor(Protocol):
    """A placed actor. Methods may be called from any thread; only `terminate` blocks."""

    @property
    def is_placed(self) -> bool:
        """True if it has a process; an actor that waits for a free CPU has none and need not answer."""

    @property
    def pid(self) -> int | None:
        """Its process id on this machine, if known."""

    def run(self, *arguments: object) -> None:
        """Start its `run` after the calls made before."""

    def ask(self, method: str, *arguments: object) -> ActorFuture:
        """Call a method concurrently with `run`; `start` is called in the thread of `run`, before it."""

    def notify(self, method: str, *arguments: object) -> None:
        """Call a method and ignore its result; the actor may have ended."""

    def exit_info(self) -> ActorExit | None:
        """Its exit; None while it runs."""

    def terminate(self) -> None:
        """Kill its process and all that it started, and wait briefly, so that its resources are released."""


@dataclass(frozen=True)
class NodeStates:
    """The nodes that a cluster has, by their ids, and those of them that it takes."""

    alive: frozenset[str]
    taken: tuple[LeavingNode, ...]


class Nodes(Protocol):
    """The nodes of a cluster that gets more when they are needed."""

    @property
    def states(self) -> NodeStates | None:
        """What the cluster said last; None as long as it has said nothing."""

    def avoid(self, node_ids: Collection[str]) -> None:
        """Place no actor on these nodes from now on, and on others again."""

    def ask_for(self, cpus: Sequence[int], beside: Collection[str] = ()) -> None:
        """Ask for nodes that hold actors with these numbers of CPUs together, and for no others.

        What the nodes of the ids `beside` hold does not count.
        """


class Placement(Protocol):
    """Places actors, and ends all of them when it is closed."""

    @property
    def nodes(self) -> Nodes | None:
        """The nodes of its cluster; None on one machine."""

    def start(self, kind: ActorKind, settings: object, *, name: str, num_cpus: int | None = None) -> Actor:
        """Place an actor; `name` is for messages.

        Without `num_cpus` it runs on this machine, otherwise on any node with as many free CPUs. Raises Unavailable
        if it cannot be placed now, and PlacementLost.
        """

    def workers_endpoint(self) -> str:
        """The default endpoint on which the router listens for workers."""

    def can_start(self, now: float) -> bool:
        """True if actors can be placed now; raises PlacementLost."""

    def close(self) -> None:
        """End every actor; a second call does nothing."""

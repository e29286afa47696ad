"""An actor under watch: why its run ended, and whether it still answers."""

from __future__ import annotations

import contextlib
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError

from cactus_actors.protocol.errors import CactusError, ConfigurationInvalid

HUNG_AFTER_S = 10.0
CONTROL = "control"
LOST = "its process died"


class Watched:
    """An actor of `kind`, placed by Ray, with threads for control calls apart from its `run`.

    Its `run` lasts as long as the actor does.
    """

    def __init__(self, kind: type[Any], settings: object, *, where: object, num_cpus: int = 0) -> None:
        remote: Any = ray.remote
        placed = remote(num_cpus=num_cpus, concurrency_groups={CONTROL: 2}, scheduling_strategy=where)
        self.actor = placed(kind).remote(settings)
        self.run: Any = None
        self._placed = self.actor.__ray_ready__.remote()
        self._question: Any = None
        self._asked_at = 0.0

    def begin(self, *arguments: object) -> None:
        """Call `run`."""
        self.run = self.actor.run.remote(*arguments)

    def control(self, method: str, *arguments: object) -> Any:
        """A reference to a control call's answer."""
        return getattr(self.actor, method).options(concurrency_group=CONTROL).remote(*arguments)

    def tell(self, method: str, *arguments: object) -> None:
        """Make a control call whose answer does not matter, nor whether the actor still lives."""
        with contextlib.suppress(RayError):
            self.control(method, *arguments)

    def kill(self) -> None:
        """End the process."""
        with contextlib.suppress(RayError):
            ray.kill(self.actor)

    def ending(self) -> str | None:
        """Why its `run` ended, or None while it runs."""
        if not _is_done(self.run):
            return None
        try:
            return str(ray.get(self.run))
        except RayActorError as error:
            return _last_line(error) if error.actor_init_failed else LOST
        except Exception as error:  # whatever ended the actor, the service goes on
            return _last_line(error)

    def was_lost(self) -> bool:
        """Whether its process, or the node that it was to run on, is gone without a word."""
        return self.ending() == LOST

    def health(self, now: float) -> Any | None:
        """Its newest answer to `health`, asked anew at every other call; None while there is none."""
        if self._question is None:
            if _is_done(self._placed):  # one that waits for a free CPU owes no answer
                self._question, self._asked_at = self.control("health"), now
            return None
        if not _is_done(self._question):
            return None
        question, self._question = self._question, None
        with contextlib.suppress(RayError):  # its ending tells why
            return ray.get(question)
        return None

    def is_hung(self, now: float) -> bool:
        """Whether it has owed an answer for HUNG_AFTER_S: it is stopped, or holds its interpreter."""
        return self._question is not None and now - self._asked_at > HUNG_AFTER_S


def answer_of(reference: Any, timeout_s: float) -> Any:
    """The value of a call; raises the CactusError that the actor raised, or ConfigurationInvalid."""
    try:
        return ray.get(reference, timeout=timeout_s)
    except RayError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, CactusError):
            raise cause from None
        raise ConfigurationInvalid(f"an actor did not start: {_last_line(error)}") from None


def _is_done(reference: Any) -> bool:
    done, _ = ray.wait([reference], timeout=0)
    return bool(done)


def _last_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[-1]

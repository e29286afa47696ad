"""What the functions raise, and the error that was last."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from cactus_actors.protocol.errors import CactusError


class CallFailed(RuntimeError):
    """A call that could not be made: no such model, a destroyed handle, arguments of a wrong kind.

    `__cause__` is the typed error below it, if there is one.
    """


class LastError:
    """The message of the process's last failed call; empty before the first."""

    message = ""

    @classmethod
    def note(cls, message: str) -> None:
        """Remember a failure."""
        cls.message = message


@contextlib.contextmanager
def noted() -> Iterator[None]:
    """Failures are remembered; typed errors leave as RuntimeError. A callback's own exception is not ours."""
    try:
        yield
    except CallFailed as error:
        LastError.note(str(error))
        raise
    except CactusError as error:
        LastError.note(error.message)
        raise CallFailed(error.message) from error

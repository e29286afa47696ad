"""The exception of the SDK's functions, and the last error."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from cactus_actors.protocol.errors import CactusError


class CallFailed(RuntimeError):
    """A call that could not be made: an unknown model, a destroyed handle, an argument of a wrong type.

    `__cause__` is the typed error, if there is one.
    """


class LastError:
    """The message of the process's last failed call; empty before the first."""

    message = ""

    @classmethod
    def note(cls, message: str) -> None:
        cls.message = message


@contextlib.contextmanager
def noted() -> Iterator[None]:
    """Record failures and raise typed errors as CallFailed. Exceptions of callbacks pass unchanged."""
    try:
        yield
    except CallFailed as error:
        LastError.note(str(error))
        raise
    except CactusError as error:
        LastError.note(error.message)
        raise CallFailed(error.message) from error

"""What the functions raise, and the error that was last."""

from __future__ import annotations


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

"""The interface of backends, which run the jobs of a handle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from cactus_actors.protocol.messages import Delta, Submit
from cactus_actors.protocol.results import Result

OnDelta = Callable[[Delta], None]


class Backend(Protocol):
    """Runs one job at a time for one handle; only `stop` may be called from another thread."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def max_context(self) -> int:
        """Tokens of prompt and answer in total."""

    def run(self, submit: Submit, on_delta: OnDelta | None) -> Result:
        """The job's result, a failed one included; raises CactusError for a job that is not accepted.

        An exception of `on_delta` cancels the job and is raised.
        """

    def stop(self) -> None:
        """Cancel the job that runs now, if any."""

    def encode(self, text: str) -> list[int]:
        """The token ids of a text, without special tokens added."""

    def close(self) -> None:
        """Release all resources."""

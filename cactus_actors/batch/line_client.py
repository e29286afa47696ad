"""What a run asks of a service: an AsyncClient, or anything else that answers jobs."""

from __future__ import annotations

from typing import Protocol

from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.protocol.messages import Status, Submit
from cactus_actors.protocol.results import Result


class LineClient(Protocol):
    """Answers jobs of any number of tasks; raises the errors of AsyncClient."""

    async def run(self, submit: Submit | EncodedSubmit) -> Result:
        """The result of a job; a cancelled wait cancels the job."""

    async def status(self) -> Status:
        """The state of the service."""

"""The second step of the pipeline: answers the rows of parts, and writes them."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from cactus_actors.client import AsyncClient
from cactus_actors.data.parts import PartRecord, PartRows, PartsPlan, answer_part
from cactus_actors.data.parts.part_rows import decoded_rows
from cactus_actors.data.remote_files import is_url
from cactus_actors.protocol.errors import CactusError
from cactus_actors.ray_data.part_reading import OUTCOME, ROWS, PartOutcome
from cactus_actors.ray_data.places import EnginePlace, ServicePlace

if TYPE_CHECKING:
    from cactus_actors.ray_data.engine_client import EngineClient


class PartActor:
    """Answers parts, one at a call; calls may overlap, so that an engine is busy while another part ends."""

    def __init__(self, plan: PartsPlan, place: ServicePlace | EnginePlace) -> None:
        os.chdir(plan.directory)  # Ray starts its processes elsewhere
        self.plan = plan
        self._place = place
        self._engine: EngineClient | None = None
        if isinstance(place, EnginePlace):
            from cactus_actors.ray_data.engine_client import EngineClient

            self._engine = EngineClient(place.choice)
            gc.collect()
            gc.freeze()  # objects of the model live as long as the process

    def __call__(self, parts: dict[str, Any]) -> dict[str, list[bytes]]:
        """The outcomes of parts."""
        return {
            OUTCOME: [found or self._outcome(rows) for rows, found in zip(parts[ROWS], parts[OUTCOME], strict=True)]
        }

    def _outcome(self, encoded: bytes) -> bytes:
        rows = decoded_rows(encoded)
        try:
            outcome = PartOutcome(part=rows.part, record=asyncio.run(self._record(rows)))
        except CactusError as error:
            outcome = PartOutcome(error=error.info())
        return msgspec.json.encode(outcome)

    async def _record(self, rows: PartRows) -> PartRecord:
        """Answer a part, unless an attempt whose outcome was lost has written it."""
        plan = self.plan
        if (record := plan.settled_record(rows.part)) is not None:
            return record
        scratch = _own_folder(plan)
        try:
            if self._engine is not None:
                return await answer_part(plan, rows, self._engine, scratch)
            assert isinstance(self._place, ServicePlace)
            async with AsyncClient(
                self._place.endpoint, self._place.stream_endpoint, key_file=self._place.key_file
            ) as client:
                return await answer_part(plan, rows, client, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _own_folder(plan: PartsPlan) -> Path:
    """A folder from which a part can be put: in the one of the table, or of this machine for a URL."""
    if is_url(plan.target):
        return Path(tempfile.mkdtemp(prefix="cactus-part-"))
    plan.store.scratch.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="part-", dir=plan.store.scratch))

"""One dispatched job: what of its answer waits for the next report."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from cactus_actors.handoff.answer_reader import AnswerPiece
from cactus_actors.protocol.worker_messages import Dispatch, Finish, SequenceDelta

# A cloud's token ids mean nothing here; a chunk takes one place in the stream and carries this id.
CHUNK_TOKEN_ID = 0


@dataclass
class CloudJob:
    """`ends_at` is the job's own deadline in monotonic seconds; `task` runs its request once it started."""

    dispatch: Dispatch
    ends_at: float | None
    task: asyncio.Task[None] | None = None
    num_reported: int = 0
    chunks: list[AnswerPiece] = field(default_factory=list)
    finish: Finish | None = None

    @property
    def has_news(self) -> bool:
        """Whether a report would say anything about this job."""
        return bool(self.chunks) or self.finish is not None

    def delta(self) -> SequenceDelta:
        """Everything since the last report that was delivered, as one delta."""
        return SequenceDelta(
            dispatch_id=self.dispatch.dispatch_id,
            position=len(self.dispatch.emitted_ids) + self.num_reported,
            token_ids=[CHUNK_TOKEN_ID] * len(self.chunks),
            text="".join(piece.text for piece in self.chunks),
            entropies=[],
            logprobs=[],
            finish=self.finish,
            reasoning="".join(piece.reasoning for piece in self.chunks),
        )

    def delivered(self) -> None:
        """The last `delta` is on its way."""
        self.num_reported += len(self.chunks)
        self.chunks.clear()

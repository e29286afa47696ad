"""One dispatched job, and the part of its answer that is not reported yet."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from cactus_actors.handoff.answer_reader import AnswerPiece
from cactus_actors.protocol.worker_messages import Dispatch, Finish, SequenceDelta

# Token ids of a cloud have no meaning here; each chunk counts as one token with this id.
CHUNK_TOKEN_ID = 0


@dataclass
class CloudJob:
    """`ends_at` is the job's deadline in monotonic seconds; `task` runs its request."""

    dispatch: Dispatch
    ends_at: float | None
    task: asyncio.Task[None] | None = None
    num_reported: int = 0
    chunks: list[AnswerPiece] = field(default_factory=list)
    finish: Finish | None = None

    @property
    def has_updates(self) -> bool:
        """True if there is something to report."""
        return bool(self.chunks) or self.finish is not None

    def delta(self) -> SequenceDelta:
        """The delta of all text since the last delivered report."""
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
        """Record that the last `delta` was sent."""
        self.num_reported += len(self.chunks)
        self.chunks.clear()

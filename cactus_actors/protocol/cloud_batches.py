"""The parts of messages about batches of a cloud: questions that are asked together, and their answers."""

from __future__ import annotations

from typing import Literal

import msgspec

from cactus_actors.protocol.cloud_question import CloudQuestion
from cactus_actors.protocol.results import FinishReason, ToolCall, Usage

MAX_QUESTIONS = 2000
MAX_QUESTION_BYTES = 2 * 1024 * 1024
"""The most questions of one batch, and bytes of all of them: they are one message."""

CloudBatchState = Literal["unknown", "absent", "creating", "running", "ended", "refused", "over_budget"]
"""`unknown`: the cloud is being asked. `absent`: the cloud has no batch of that mark. `refused`: the cloud cannot be
asked now, whether or not it has the batch. `over_budget`: no batch was created, since the budgets do not allow it."""


class BatchQuestion(msgspec.Struct, frozen=True, array_like=True):
    """The question at a `place` of its batch, and about how many tokens it takes: those of the local answer."""

    place: int
    question: CloudQuestion
    prompt_tokens: int = 0
    completion_tokens: int = 0


class BatchAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cloud's answer to the question at `place`, or the `error` that it got instead; `cost` needs prices."""

    place: int
    text: str = ""
    reasoning: str = ""
    finish_reason: FinishReason = "stop"
    tool_calls: list[ToolCall] = []
    usage: Usage | None = None
    cost: float | None = None
    error: str = ""

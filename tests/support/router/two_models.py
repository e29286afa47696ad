"""A scripted router with the models small and large, the first of which is unsure of most answers."""

from __future__ import annotations

from typing import Any

import msgspec

from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Finished, Rejected, Status, Submit
from cactus_actors.protocol.results import NOT_ALLOWED, Handoff, Measures, Timings
from cactus_actors.protocol.service_status import AdapterStatus, ModelStatus
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter

MEASURES = Measures(mean_logprob=-0.1, min_token_prob=0.4)
ENTRY: dict[str, Any] = {
    "max_context": 256,
    "vocab_size": 1000,
    "fingerprint": "f",
    "has_chat_template": True,
    "desired_workers": 1,
    "waiting": 0,
    "running": 0,
}


def of_two_models(status: Status) -> Status:
    """The status of a service with both models, and an adapter of the first."""
    small = ModelStatus(name="small", aliases=["little"], formats=["int4-avx2"], **ENTRY)
    large = ModelStatus(name="large", aliases=["big"], formats=["float32-avx2"], **ENTRY)
    poems = AdapterStatus(name="poems", path="/poems", model="small")
    return msgspec.structs.replace(status, models=[small, large], adapters=[poems])


class TwoModels(ScriptedRouter):
    """`small` answers with the prompt and is sure of `prompt 0` alone; `large` answers with capital letters.

    `large_is_unsure_of` are prompts, and `refused_by_large` those that it refuses, with their errors. An answer is
    unsure only for a job that asks for a threshold.
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.large_is_unsure_of: set[Any] = set()
        self.refused_by_large: dict[Any, CactusError] = {}

    def status(self, request_id: str) -> Status:
        return of_two_models(super().status(request_id))

    def on_submit(self, identity: bytes, submit: Submit) -> None:
        error = self.refused_by_large.get(submit.prompt) if submit.model == "large" else None
        if error is None:
            super().on_submit(identity, submit)
        else:
            self.reply(identity, Rejected(error=error.info(), job_id=submit.job_id))

    def end(self, job: ScriptedJob, finished: Finished) -> None:
        options, model = job.submit.options, job.submit.model or "small"
        threshold = options.cloud_handoff_threshold or 0.0
        is_large = model in ("large", "big")
        is_sure = job.submit.prompt not in self.large_is_unsure_of if is_large else job.submit.prompt == "prompt 0"
        result = finished.result
        handoff = Handoff(threshold=threshold, signal="min_token_prob")
        if threshold and not is_sure:
            status = "suppressed" if options.allow_cloud is False else "recommended"
            reason = NOT_ALLOWED if options.allow_cloud is False else "no key"
            handoff = msgspec.structs.replace(handoff, status=status, reason=reason, confidence=0.1)
        result = msgspec.structs.replace(
            result,
            text=result.text.upper() if is_large else result.text,
            model=model,
            handoff=handoff,
            measures=MEASURES,
            timings=Timings(total_time_ms=12.0),
        )
        finished = job.finished = msgspec.structs.replace(finished, result=result)
        super().end(job, finished)

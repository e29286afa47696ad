"""Sequences for a scheduler without an engine."""

from __future__ import annotations

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.detokenizer import Detokenizer
from cactus_actors.workers.engine.scheduler import Schedule
from cactus_actors.workers.engine.sequence import Sequence
from tests.support.models.sampler_cases import NoBytes


def make_sequence(
    dispatch_id: int,
    prompt_ids: list[int],
    *,
    emitted_ids: tuple[int, ...] = (),
    max_tokens: int = 100,
    cache_prompt: bool = True,
) -> Sequence:
    params = SamplingParams(max_tokens=max_tokens, cache_prompt=cache_prompt)
    dispatch = Dispatch(dispatch_id, "0" * 32, prompt_ids, list(emitted_ids), params)
    return Sequence(dispatch, Detokenizer(NoBytes(), params), max_context=200, block_size=4)


def sizes(schedule: Schedule) -> list[tuple[int, int]]:
    return [(chunk.sequence.dispatch_id, chunk.num_tokens) for chunk in schedule.chunks]

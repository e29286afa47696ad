"""Random dispatches of a model with seven tokens, and their results, with and without drafts."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

from hypothesis import strategies as st

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, Finish
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.options import EngineLimits, TextOptions

VOCAB = 7
END_ID = 3


class OneLetterEach:
    def token_bytes(self, token_id: int) -> bytes:
        return "abc€éfg"[token_id % VOCAB].encode()


def make_engine(
    model: Model,
    *,
    max_drafts: int,
    cache_blocks: int = 64,
    block_size: int = 8,
    token_budget: int = 64,
    clock: Callable[[], float] = time.perf_counter,
) -> Engine:
    return Engine(
        model,
        TextOptions(OneLetterEach(), [END_ID]),
        EngineLimits(
            cache_blocks=cache_blocks,
            block_size=block_size,
            max_sequences=6,
            token_budget=token_budget,
            max_drafts=max_drafts,
        ),
        clock,
    )


Said = tuple[list[int], list[str], list[tuple[float, float]], Finish | None]


def run(engine: Engine, dispatches: list[Dispatch]) -> list[Said]:
    """Tokens, the text of each, their measures and the finish, for each dispatch."""
    said: dict[int, Said] = {dispatch.dispatch_id: ([], [], [], None) for dispatch in dispatches}
    for dispatch in dispatches:
        engine.add(dispatch)
    while engine.has_work:
        for delta in engine.step():
            token_ids, texts, measures, finish = said[delta.dispatch_id]
            assert finish is None
            assert delta.position == len(token_ids)
            token_ids += delta.token_ids
            if delta.token_ids:
                bounds = [0, *delta.cuts, len(delta.text)]
                texts += [delta.text[i:j] for i, j in pairwise(bounds)]
            measures += zip(delta.entropies, delta.logprobs, strict=True)
            said[delta.dispatch_id] = (token_ids, texts, measures, delta.finish)
    return list(said.values())


@st.composite
def dispatches(draw: st.DrawFn) -> list[Dispatch]:
    prompts = st.lists(st.integers(0, 6), min_size=1, max_size=40)
    params = st.builds(
        SamplingParams,
        max_tokens=st.integers(1, 50),
        min_tokens=st.integers(0, 12),
        temperature=st.sampled_from([0.0, 0.0, 0.3, 1.0, 2.0]),
        top_p=st.sampled_from([1.0, 0.9, 0.4]),
        top_k=st.sampled_from([0, 2, 4]),
        min_p=st.sampled_from([0.0, 0.1]),
        seed=st.integers(0, 2**64 - 1),
        presence_penalty=st.sampled_from([0.0, 0.0, 0.6]),
        frequency_penalty=st.sampled_from([0.0, 0.0, 0.2]),
        repeat_penalty=st.sampled_from([1.0, 1.0, 1.2]),
        repeat_last_n=st.sampled_from([-1, 3, 64]),
        stop=st.sampled_from([(), (), ("ab",), ("€é", "gfg"), ("aaaa",)]),
        include_stop_sequences=st.booleans(),
        ignore_eos=st.booleans(),
        cache_prompt=st.booleans(),
        typical_p=st.sampled_from([1.0, 1.0, 0.6]),
        logit_bias=st.sampled_from([(), ((2, 1.5),)]),
        mirostat=st.sampled_from([0, 0, 0, 2]),
        penalise_prompt=st.booleans(),
        prompt_logprobs=st.booleans(),
    )
    count = draw(st.integers(1, 6))
    return [
        Dispatch(i, f"{i:032x}", draw(prompts), [], draw(params), choice=draw(st.integers(0, 2))) for i in range(count)
    ]

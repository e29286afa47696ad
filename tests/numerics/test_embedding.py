"""Embeddings: hidden states pooled as the model requires, with the same bits in any batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cactus_actors.models.pooling import Pooling
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, Finish, SequenceDelta
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import model_from_tensors
from cactus_actors.workers.loading.random_weights import parse_random_spec, random_tensors
from tests.support.models.reference_llama import reference_hidden

CONFIG = parse_random_spec("llama:hidden=56,ffn=100,layers=2,heads=4,kv_heads=2,head_dim=16,vocab=199,context=128")
TENSORS = random_tensors(CONFIG, seed=1)
PROMPT = [(7 * i + 3) % 199 for i in range(90)]
ANSWERING = Dispatch(9, "9" * 32, PROMPT[:20], [], SamplingParams(max_tokens=12))


class NoBytes:
    def token_bytes(self, token_id: int) -> bytes:
        return b""


@pytest.fixture(scope="module", params=["float32", "int8"])
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    model = model_from_tensors(CONFIG, TENSORS, weights=request.param, threads=2)
    yield model
    model.close()


def make_engine(model: Model, *, cache_blocks: int = 32, token_budget: int = 256, pooling: Pooling = "mean") -> Engine:
    return Engine(
        model,
        TextOptions(NoBytes(), [], pooling=pooling),
        EngineLimits(cache_blocks=cache_blocks, token_budget=token_budget),
    )


def embedding_job(dispatch_id: int = 1, prompt_ids: list[int] = PROMPT, **params: object) -> Dispatch:
    options = {"max_tokens": 5, **params}
    return Dispatch(dispatch_id, "1" * 32, prompt_ids, [], SamplingParams(**options), task="embed")  # type: ignore[arg-type]


def run(engine: Engine, *dispatches: Dispatch) -> dict[int, list[SequenceDelta]]:
    deltas: dict[int, list[SequenceDelta]] = {dispatch.dispatch_id: [] for dispatch in dispatches}
    for dispatch in dispatches:
        engine.add(dispatch)
    while engine.has_work:
        for delta in engine.step():
            deltas[delta.dispatch_id].append(delta)
    return deltas


def embedding_of(engine: Engine, *others: Dispatch) -> list[float]:
    """The embedding in the job's only delta."""
    (delta,) = run(engine, embedding_job(), *others)[1]
    assert delta.extras is not None
    assert delta.extras.embedding is not None
    assert (delta.token_ids, delta.text, delta.finish) == ([], "", Finish("stop"))
    return delta.extras.embedding


@pytest.mark.parametrize("pooling", ["mean", "cls", "lasttoken"])
@pytest.mark.parametrize("token_budget", [7, 256])
def test_an_embedding_is_the_normalised_pooled_hidden_state(model: Model, pooling: Pooling, token_budget: int) -> None:
    hidden = reference_hidden(CONFIG, TENSORS, PROMPT)
    expected = {"mean": hidden.mean(axis=0), "cls": hidden[0], "lasttoken": hidden[-1]}[pooling]
    embedding = np.array(embedding_of(make_engine(model, token_budget=token_budget, pooling=pooling)))
    assert np.linalg.norm(embedding) == pytest.approx(1.0, abs=1e-12)
    error = np.abs(embedding - expected / np.linalg.norm(expected)).max()
    assert error < (1e-5 if model.weights_format == "float32" else 0.03)  # type: ignore[attr-defined]


@pytest.mark.parametrize("token_budget", [1, 7, 31])
def test_an_embedding_does_not_depend_on_chunks_batches_or_cached_prefixes(model: Model, token_budget: int) -> None:
    expected = embedding_of(make_engine(model))
    engine = make_engine(model, token_budget=token_budget)
    assert embedding_of(engine, ANSWERING) == expected
    assert embedding_of(engine, ANSWERING) == expected, "though its prefix is cached now"


def test_an_embedding_survives_preemption_and_changes_no_answer(model: Model) -> None:
    growing = Dispatch(9, "9" * 32, PROMPT[:16], [], SamplingParams(max_tokens=40))
    job = embedding_job(prompt_ids=PROMPT[:48])
    expected, answer = run(make_engine(model), job)[1], run(make_engine(model), growing)[9]
    engine = make_engine(model, cache_blocks=6, token_budget=2)
    deltas = run(engine, growing, job)
    assert engine.counters.preemptions > 0
    assert deltas[9] == answer
    assert deltas[1] == expected
    assert engine.free_blocks == 6

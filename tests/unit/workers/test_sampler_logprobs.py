"""Reported probabilities: the likeliest tokens at each position, and the prompt's own tokens."""

from __future__ import annotations

import numpy as np
import pytest

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.detokenizer import Detokenizer
from cactus_actors.workers.engine.sampler import Sampler
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.step_batch import Batch, SequenceChunk
from tests.support.models.sampler_cases import VOCAB, Case, NoBytes, make_case, sample, softmax


@pytest.mark.parametrize("vocab", [1, 3, 64, 300, 5000])
@pytest.mark.parametrize("count", [0, 1, 5, 20])
def test_the_likeliest_tokens_are_those_of_the_raw_logits(vocab: int, count: int) -> None:
    for seed in range(5):
        case = make_case(seed, vocab=vocab, temperature=0.5, top_k=2, num_logprobs=count, mirostat=seed % 3)
        case.prompt_ids = (0,)
        logprobs = np.log(softmax(case.logits.astype(np.float64)))
        expected = np.lexsort((np.arange(vocab), -logprobs))[:count]
        top = Sampler([]).sample(case.logits[None].copy(), [case.chunk]).top(0)
        assert [token for token, _ in top] == expected.tolist()
        assert [logprob for _, logprob in top] == pytest.approx(logprobs[expected].tolist(), abs=1e-5)


def test_lower_ids_come_first_on_ties() -> None:
    logits = np.zeros(VOCAB, dtype=np.float32)
    logits[[200, 90, 150]] = 1.0
    top = sample(Case(logits, SamplingParams(max_tokens=9, num_logprobs=5))).top(0)
    assert [token for token, _ in top] == [90, 150, 200, 0, 1]


def test_a_token_has_the_same_value_among_the_likely_ones() -> None:
    samples = sample(*(make_case(seed, num_logprobs=20, temperature=0.0, mirostat=0) for seed in range(50)))
    for row, (token, logprob) in enumerate(samples.rows[["token_id", "logprob"]].tolist()):
        assert dict(samples.top(row))[token] == logprob


def test_rows_have_the_requested_number_of_likely_tokens() -> None:
    samples = sample(*(make_case(7, num_logprobs=count) for count in (-1, 3, 0, 20)))
    assert [len(samples.top(row)) for row in range(4)] == [0, 3, 0, 20]
    assert samples.top(3)[:3] == samples.top(1)


def test_prompt_rows_have_the_probabilities_of_their_tokens() -> None:
    prompt_ids = [4, 9, 9, 250, 1, 17]
    params = SamplingParams(max_tokens=3, num_logprobs=2, prompt_logprobs=True, temperature=0.0)
    dispatch = Dispatch(1, "0" * 32, prompt_ids, [], params)
    sequence = Sequence(dispatch, Detokenizer(NoBytes(), params), max_context=64, block_size=16)
    sequence.block_table.append(0)
    logits = np.random.default_rng(0).normal(size=(6, VOCAB)).astype(np.float32)
    logprobs = np.log([softmax(row.astype(np.float64)) for row in logits])

    chunk = SequenceChunk(sequence, 6)
    assert Batch.of([chunk]).logit_rows.tolist() == [0, 1, 2, 3, 4, 5]
    samples = Sampler([]).sample(logits, [chunk])
    assert samples.rows["token_id"].tolist() == [9, 9, 250, 1, 17, int(logits[5].argmax())]
    expected = [logprobs[row, token] for row, token in enumerate(samples.rows["token_id"])]
    assert samples.rows["logprob"].tolist() == pytest.approx(expected, abs=1e-6)
    assert [token for token, _ in samples.top(3)] == np.argsort(-logits[3])[:2].tolist()

    sequence.num_computed_tokens, sequence.num_reported_prompt_tokens = 2, 3
    chunk = SequenceChunk(sequence, 3)
    assert Batch.of([chunk]).logit_rows.tolist() == [0, 1, 2]
    assert Sampler([]).sample(logits[:3], [chunk]).rows["token_id"].tolist() == [250, 1, 17]

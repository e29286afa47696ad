"""Rows for the sampler, and the distribution that its formulas define, computed literally in float64."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.detokenizer import Detokenizer
from cactus_actors.workers.engine.sampler import Sampler, Samples
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.step_batch import SequenceChunk
from cactus_actors.workers.kernels import sampling_random
from cactus_actors.workers.kernels.sampling_ranked import MAX_RANKED
from tests.support.models.for_python import for_python

uniform = for_python(sampling_random.uniform)

VOCAB = 300
END_IDS = (2, 5)


class NoBytes:
    def token_bytes(self, token_id: int) -> bytes:
        return b""


class Allowed:
    """A constraint that always allows the same tokens."""

    is_finished = False

    def __init__(self, token_ids: tuple[int, ...], vocab: int = VOCAB) -> None:
        bits = np.zeros(-(-vocab // 32) * 32, dtype=np.uint8)
        bits[list(token_ids)] = 1
        self._mask = np.packbits(bits, bitorder="little").view(np.int32)

    def accept(self, token_id: int) -> None:
        pass

    def bitmask(self) -> NDArray[np.int32]:
        return self._mask


@dataclass
class Case:
    """One row: logits, parameters and the tokens so far."""

    logits: NDArray[np.float32]
    params: SamplingParams
    prompt_ids: tuple[int, ...] = (1,)
    emitted_ids: tuple[int, ...] = ()
    choice: int = 0
    allowed: tuple[int, ...] | None = None
    mu: float | None = None

    @property
    def chunk(self) -> SequenceChunk:
        """The step after which the row is sampled."""
        dispatch = Dispatch(
            1,
            "0" * 32,
            list(self.prompt_ids),
            list(self.emitted_ids),
            self.params,
            self.choice,
            mirostat_mu=self.mu,
        )
        sequence = Sequence(
            dispatch,
            Detokenizer(NoBytes(), self.params),
            max_context=4096,
            block_size=16,
            constraint=None if self.allowed is None else Allowed(self.allowed, self.logits.size),
        )
        return SequenceChunk(sequence, sequence.num_tokens)


def make_case(seed: int, *, scale: float = 3.0, vocab: int = VOCAB, **params: object) -> Case:
    logits = np.random.default_rng(seed).normal(scale=scale, size=vocab).astype(np.float32)
    return Case(logits, SamplingParams(max_tokens=100, seed=seed, **params))  # type: ignore[arg-type]


def sample(*cases: Case) -> Samples:
    logits = np.stack([case.logits for case in cases])
    before = logits.copy()
    samples = Sampler(END_IDS).sample(logits, [case.chunk for case in cases])
    np.testing.assert_array_equal(logits, before)
    return samples


def sample_one(case: Case) -> int:
    return int(sample(case).rows["token_id"][0])


def adjusted(case: Case) -> NDArray[np.float64]:
    """Logits after mask, bias, penalties and forbidden end tokens, from their definitions."""
    params = case.params
    logits = case.logits.astype(np.float64)
    for token, bias in params.logit_bias:
        logits[token] += bias
    tokens = case.prompt_ids + case.emitted_ids
    window = tokens if params.repeat_last_n < 0 else tokens[max(0, len(tokens) - params.repeat_last_n) :]
    counted = window if params.penalise_prompt else case.emitted_ids
    if params.mirostat == 0:
        for token in set(window):
            logits[token] *= params.repeat_penalty if logits[token] <= 0 else 1 / params.repeat_penalty
        for token in set(counted):
            logits[token] -= counted.count(token) * params.frequency_penalty + params.presence_penalty
    if len(case.emitted_ids) < params.min_tokens:
        logits[list(END_IDS)] = -math.inf
    if case.allowed is not None:
        logits[[token for token in range(logits.size) if token not in case.allowed]] = -math.inf
    return logits


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = np.exp(logits - logits.max())
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def typical(probabilities: NDArray[np.float64], mass: float) -> NDArray[np.intp]:
    """The positions that locally typical sampling keeps, of probabilities in falling order."""
    surprises = -np.log(np.maximum(probabilities, 1e-300))
    distances = np.abs(surprises - (probabilities * surprises).sum())
    nearest = np.argsort(distances, kind="stable")
    num_kept = int(np.searchsorted(np.cumsum(probabilities[nearest]), mass, side="right")) + 1
    return np.sort(nearest[:num_kept])


def distribution(case: Case) -> dict[int, float]:
    """The ids that can be drawn, in the order in which their probabilities are laid end to end."""
    params = case.params
    logits = adjusted(case)
    ranked = np.lexsort((np.arange(logits.size), -logits))
    kept = ranked[: params.top_k] if params.top_k else ranked
    probabilities = softmax(logits[kept])
    if params.typical_p < 1:
        kept = kept[typical(probabilities, params.typical_p)]
        probabilities = softmax(logits[kept])
    if params.top_p < 1:
        num_kept = int(np.searchsorted(np.cumsum(probabilities), params.top_p)) + 1
        kept, probabilities = kept[:num_kept], probabilities[:num_kept]
    kept = kept[probabilities >= params.min_p * probabilities[0]]
    if not 0 < params.top_k < min(logits.size, MAX_RANKED + 1):
        kept = np.sort(kept)
    shares = softmax(logits[kept] / params.temperature)
    return {token: share for token, share in zip(kept.tolist(), shares.tolist(), strict=True) if share > 0}


def drawn(case: Case) -> int:
    """The id that the case's random number selects."""
    rest = uniform(np.uint64(case.params.seed), np.uint64(case.choice), np.uint64(len(case.emitted_ids)))
    for token, probability in distribution(case).items():
        rest -= probability
        if rest < 0:
            return token
    raise AssertionError("probabilities sum to 1")

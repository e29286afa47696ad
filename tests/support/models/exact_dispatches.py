"""Dispatches with many kinds of parameters, runs of them, and the models that they run on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from cactus_actors.config_models import WeightFormat
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, Finish, SequenceDelta
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import model_from_tensors
from cactus_actors.workers.loading.random_weights import random_tensors
from cactus_actors.workers.spec.model_config import ModelConfig
from tests.support.models.adapted_engine import ADAPTED, AdaptedEngine, add_two_adapters
from tests.support.models.exactness_configs import (
    GEMMA3N,
    GEMMA4,
    GPT_OSS,
    GRANITE4,
    LFM2,
    LFM3,
    LLAMA,
    QWEN3_5,
    QWEN3_MOE,
)

END_IDS = {
    "Llama": 95,
    "LFM2": 100,
    "Qwen3 MoE": 95,
    "LFM3": 100,
    "Qwen3.5": 120,
    "Granite 4": 120,
    "gpt-oss": 95,
    "Gemma 3n": 100,
    "Gemma 4": 100,
}
"""Each ends some of the answers."""


class LetterTokenizer:
    """Bytes of many kinds, so that held-back characters and stop strings occur."""

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([token_id + 32]) if token_id % 3 else "é€"[token_id % 2].encode()[: 1 + token_id % 4]


class InTurns:
    """One of every three consecutive token ids is allowed, in turn; a text of `length` tokens is complete."""

    def __init__(self, length: str) -> None:
        self._length = int(length)
        self._num_tokens = 0

    def accept(self, token_id: int) -> None:
        assert token_id % 3 == self._num_tokens % 3
        self._num_tokens += 1

    def bitmask(self) -> NDArray[np.int32]:
        bits = np.arange(224) % 3 == self._num_tokens % 3
        return np.packbits(bits, bitorder="little").view(np.int32)

    @property
    def is_finished(self) -> bool:
        return self._num_tokens == self._length


@dataclass
class Outcome:
    """All outputs of one dispatch."""

    token_ids: list[int] = field(default_factory=list)
    text: str = ""
    measures: list[tuple[float, float]] = field(default_factory=list)
    finish: Finish | None = None
    cached_tokens: int = 0
    top: list[list[tuple[int, float]]] = field(default_factory=list)
    prompt: list[tuple[float, list[tuple[int, float]]]] = field(default_factory=list)
    mirostat_mu: float | None = None
    prompt_states: dict[int, bytes] = field(default_factory=dict)

    def take(self, delta: SequenceDelta) -> None:
        assert self.finish is None
        assert delta.position == len(self.token_ids), "no gap and no repeat"
        self.token_ids += delta.token_ids
        self.text += delta.text
        self.measures += zip(delta.entropies, delta.logprobs, strict=True)
        self.finish = delta.finish
        self.cached_tokens = delta.cached_tokens
        if delta.extras is not None:
            assert delta.extras.prompt_position == (len(self.prompt) if delta.extras.prompt else 0)
            self.top += delta.extras.top
            self.prompt += delta.extras.prompt
            self.mirostat_mu = delta.extras.mirostat_mu
            assert not (delta.extras.prompt_states and delta.position), "they come with the first token"
            self.prompt_states |= delta.extras.prompt_states

    @property
    def said(self) -> tuple[object, ...]:
        """The parts that must not depend on the batch; the first token of a prompt has no probability."""
        return (
            self.token_ids,
            self.text,
            self.measures,
            self.finish,
            self.top,
            str(self.prompt),
            self.mirostat_mu,
            self.prompt_states,
        )


def make_engine(model: Model, *, cache_blocks: int = 128, token_budget: int = 256, max_drafts: int = 0) -> Engine:
    return (AdaptedEngine if model in ADAPTED else Engine)(
        model,
        TextOptions(LetterTokenizer(), [END_IDS[model.config.family]], new_constraint=InTurns),
        EngineLimits(
            cache_blocks=cache_blocks,
            max_sequences=8,
            token_budget=token_budget,
            max_drafts=max_drafts,
            num_checkpoints=cache_blocks // 4,
            checkpoint_tokens=32,
        ),
    )


def run(engine: Engine, *dispatches: Dispatch) -> list[Outcome]:
    outcomes = {dispatch.dispatch_id: Outcome() for dispatch in dispatches}
    for dispatch in dispatches:
        engine.add(dispatch)
    while engine.has_work:
        for delta in engine.step():
            outcomes[delta.dispatch_id].take(delta)
    assert all(outcome.finish is not None for outcome in outcomes.values())
    return list(outcomes.values())


PARAMS = [
    SamplingParams(max_tokens=24),
    SamplingParams(max_tokens=20, temperature=1.0, seed=1),
    SamplingParams(max_tokens=24, temperature=0.8, top_k=20, top_p=0.95, seed=2**64 - 1, ignore_eos=True),
    SamplingParams(max_tokens=17, repeat_penalty=1.3, frequency_penalty=0.5, repeat_last_n=9),
    SamplingParams(max_tokens=24, temperature=1.5, min_p=0.1, top_p=0.9, seed=3, stop=("a", "xy", "é"), min_tokens=6),
    SamplingParams(max_tokens=24, temperature=1.2, seed=4, presence_penalty=1.0, cache_prompt=False),
    SamplingParams(max_tokens=18, temperature=0.9, seed=5, mirostat=1, mirostat_tau=3.0, num_logprobs=3),
    SamplingParams(max_tokens=24, temperature=1.1, seed=6, mirostat=2, ignore_eos=True),
    SamplingParams(max_tokens=15, temperature=0.7, seed=7, num_logprobs=2, prompt_logprobs=True),
    SamplingParams(
        max_tokens=20,
        temperature=1.2,
        seed=8,
        typical_p=0.7,
        logit_bias=((3, 2.0), (90, -4.0)),
        presence_penalty=0.5,
        penalise_prompt=False,
    ),
    SamplingParams(max_tokens=22, temperature=1.0, seed=9, min_tokens=30),
    SamplingParams(max_tokens=1),
    SamplingParams(max_tokens=0),
]


def make_dispatches() -> list[Dispatch]:
    """Prompts of 1 to 90 tokens, the longer ones on a common prefix, each with its own parameters.

    The hidden states of two prompts out of three are tapped after the first layer.
    """
    lengths = [1, 15, 16, 17, 33, 48, 20, 35, 75, 50, 40, 77, 90]
    dispatches = [
        Dispatch(
            i,
            f"{i:032x}",
            [(7 * j + 3) % 199 for j in range(length)],
            [],
            params,
            choice=i % 2,
            tapped_layers=[1] if i % 3 else [],
        )
        for i, (length, params) in enumerate(zip(lengths, PARAMS, strict=True))
    ]
    dispatches[10] = msgspec.structs.replace(dispatches[10], grammar="18")
    return dispatches


def weight_of(family: str, name: str) -> np.float32:
    """The layers of some models add little to the residual stream, so that answers repeat and drafts are accepted.

    The decays of recurrent layers are near one, so that they have a long memory.
    """
    if name.endswith("A_log"):
        return np.float32(-4)
    if family in ("Qwen3.5", "Granite 4"):
        return np.float32(0.08 if name.endswith(("out_proj", "o_proj", "down_proj", "shared_mlp.down")) else 1)
    if family == "Gemma 3n" and name.endswith(("post_attention_layernorm", "post_feedforward_layernorm", "input_norm")):
        return np.float32(0.1)
    if name.endswith(("post_operator_norm", "post_ffn_norm")):
        return np.float32(0.2)
    return np.float32(0.5 if name.endswith(("conv.out_proj", "feed_forward.w2")) else 1)


class ModelCase(NamedTuple):
    """A model on which tokens must be exact."""

    config: ModelConfig
    weights: WeightFormat
    is_adapted: bool = False

    @property
    def name(self) -> str:
        return f"{self.config.family}-{self.weights}{'-adapters' if self.is_adapted else ''}"


MODELS = {
    case.name: case
    for case in (
        ModelCase(LLAMA, "float32"),
        *(ModelCase(config, "int8") for config in (LLAMA, LFM2, QWEN3_MOE, LFM3, QWEN3_5, GRANITE4, GPT_OSS)),
        *(ModelCase(config, "int8") for config in (GEMMA3N, GEMMA4)),
        *(ModelCase(config, "int8", is_adapted=True) for config in (LLAMA, QWEN3_5)),
    )
}


@contextmanager
def on_one_and_two_threads(name: str) -> Iterator[dict[int, Model]]:
    """One of MODELS, by its number of threads."""
    config, weights, is_adapted = MODELS[name]
    tensors = {name: tensor * weight_of(config.family, name) for name, tensor in random_tensors(config, seed=1).items()}
    threads = {n: model_from_tensors(config, tensors, weights=weights, threads=n) for n in (1, 2)}
    for model in threads.values():
        if is_adapted:
            add_two_adapters(model)
    yield threads
    for model in threads.values():
        ADAPTED.discard(model)
        model.close()


def alone(model: Model) -> list[Outcome]:
    """The outcome of every dispatch alone: an empty cache, its prompt in one step."""
    return [run(make_engine(model), dispatch)[0] for dispatch in make_dispatches()]


def said(outcomes: list[Outcome]) -> list[object]:
    """The parts of outcomes that must not depend on the batch."""
    return [outcome.said for outcome in outcomes]


def after_a_crash(model: Model, dispatch: Dispatch, cut: int) -> Outcome:
    """The outcome if the worker ends after `cut` tokens: another one gets those and continues, in smaller chunks."""
    outcome = Outcome()
    engine = make_engine(model)
    engine.add(dispatch)
    while len(outcome.token_ids) < cut:
        for delta in engine.step():
            outcome.take(delta)
    rest = msgspec.structs.replace(
        dispatch, dispatch_id=99, emitted_ids=outcome.token_ids[:], mirostat_mu=outcome.mirostat_mu
    )
    survivor = make_engine(model, token_budget=10)
    survivor.add(rest)
    while survivor.has_work:
        for delta in survivor.step():
            outcome.take(delta)
    return outcome

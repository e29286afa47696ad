"""Drafts of a model's head: steps and tokens per second by acceptance, on a random model.

python -m benchmarks.draft_heads --shape 0.8B --batch 1 4 16 --acceptance 0 0.6 0.9

The head is the shape's own, with random weights, and runs in full. Its logits are then changed so that each draft is
right with the given probability, if those before it are; the right tokens are those of a run without drafts.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from cactus_actors.config import WeightFormat
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.model import DraftRows, Guesses, TokenGuesser
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import model_from_tensors
from cactus_actors.workers.loading.random_weights import random_tensors
from cactus_actors.workers.runtime.transformer import TransformerModel
from cactus_actors.workers.spec.model_config import Layer, ModelConfig, RecurrentHeads
from cactus_actors.workers.spec.rotary import Rope

PROMPT_TOKENS = 64
WRONG_ID = 0
"""A token that a random model nearly never generates."""


class NoBytes:
    """Tokens without text."""

    def token_bytes(self, token_id: int) -> bytes:  # noqa: ARG002
        return b""


SHAPES = {
    "0.8B": (1024, 3584, 24, 8, 2, 16),
    "2B": (2048, 6144, 24, 8, 2, 16),
    "4B": (2560, 9216, 32, 16, 4, 32),
}
"""Hidden size, feed-forward size, layers, heads, key-value heads and value heads of Qwen3.5."""


def config_of(shape: str) -> ModelConfig:
    """A dense Qwen3.5 of this size, with its head."""
    hidden, ffn, num_layers, num_heads, num_kv_heads, num_value_heads = SHAPES[shape]
    return ModelConfig(
        family="Qwen3.5",
        vocab_size=248320,
        hidden_size=hidden,
        ffn_size=ffn,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=256,
        norm_eps=1e-6,
        max_context=8192,
        tie_embeddings=True,
        ropes=(Rope(1e7, 64),),
        layers=tuple(Layer(kind="attention" if index % 4 == 3 else "delta") for index in range(num_layers)),
        num_taps=4,
        recurrent_heads=RecurrentHeads(num_key_heads=16, key_dim=128, num_value_heads=num_value_heads, value_dim=128),
        draft_layer=Layer(),
    )


class HintedHead:
    """The head of a model, whose guesses are right with a given probability.

    `right` has the token after a token at a position, in any of the sequences.
    """

    def __init__(self, head: TokenGuesser, acceptance: float, right: dict[tuple[int, int], int]) -> None:
        self._head = head
        self._acceptance = acceptance
        self._right = right
        self._random = np.random.default_rng(0)

    def guess(self, rows: DraftRows, cache: KVCache) -> Guesses:
        """As the head, with the largest logit at the right token or at another one."""
        guesses = self._head.guess(rows, cache)
        for row, place in enumerate(zip(rows.positions.tolist(), rows.token_ids.tolist(), strict=True)):
            is_right = place in self._right and self._random.random() < self._acceptance
            guesses.logits[row, self._right[place] if is_right else WRONG_ID] = 1e9
        return guesses


@dataclass(frozen=True)
class Run:
    """One batch of sequences, counted from when all of them have a token."""

    tokens: list[list[int]]
    num_tokens: int
    num_steps: int
    seconds: float
    num_drafts: int = 0
    num_accepted: int = 0

    @property
    def tokens_per_second(self) -> float:
        return self.num_tokens / self.seconds


def run(model: TransformerModel, prompts: list[list[int]], params: SamplingParams, max_drafts: int) -> Run:
    """Generate for all prompts together."""
    num_tokens = len(prompts) * (PROMPT_TOKENS + params.max_tokens)
    limits = EngineLimits(
        cache_blocks=num_tokens // 16 + 2 * len(prompts), max_sequences=len(prompts), max_drafts=max_drafts
    )
    engine = Engine(model, TextOptions(NoBytes(), []), limits)
    tokens: list[list[int]] = [[] for _ in prompts]
    for number, prompt in enumerate(prompts):
        engine.add(Dispatch(number, f"{number:032x}", prompt, [], params))
    started, num_steps, num_first = time.perf_counter(), 0, 0
    while engine.has_work:
        is_prefill = not all(tokens)
        for delta in engine.step():
            tokens[delta.dispatch_id] += delta.token_ids
        num_steps += 1
        if is_prefill:
            started, num_steps, num_first = time.perf_counter(), 0, sum(map(len, tokens))
    seconds, counters = time.perf_counter() - started, engine.counters
    num_generated = sum(map(len, tokens)) - num_first
    return Run(tokens, num_generated, num_steps, seconds, counters.draft_tokens, counters.accepted_draft_tokens)


def following(prompts: list[list[int]], tokens: list[list[int]]) -> dict[tuple[int, int], int]:
    """The token after each (position, token)."""
    whole = [prompt + completion for prompt, completion in zip(prompts, tokens, strict=True)]
    return {
        (position, token): next_token for each in whole for position, (token, next_token) in enumerate(pairwise(each))
    }


def compare(model: TransformerModel, batch: int, acceptances: list[float], arguments: argparse.Namespace) -> None:
    """Print a line for each acceptance, with the best of some rounds with and without drafts, in turns."""
    generator = np.random.default_rng(1)
    prompts = [generator.integers(1, model.config.vocab_size, PROMPT_TOKENS).tolist() for _ in range(batch)]
    params = SamplingParams(max_tokens=arguments.tokens, temperature=0.0, ignore_eos=True)
    head = model.draft_head
    assert head is not None
    for acceptance in acceptances:
        pairs = []
        for _ in range(arguments.rounds):
            plain = run(model, prompts, params, 0)
            model.draft_head = HintedHead(head, acceptance, following(prompts, plain.tokens))  # type: ignore[assignment]
            drafting = run(model, prompts, params, arguments.drafts)
            model.draft_head = head
            assert drafting.tokens == plain.tokens, "drafts changed a token"
            pairs.append((plain, drafting))
        plain, drafting = (max(each, key=lambda one: one.tokens_per_second) for each in zip(*pairs, strict=True))
        record = {
            "batch": batch,
            "head_is_right": acceptance,
            "drafted": drafting.num_drafts,
            "accepted": round(drafting.num_accepted / max(1, drafting.num_drafts), 2),
            "steps": plain.num_steps,
            "drafting_steps": drafting.num_steps,
            "tokens_per_second": round(plain.tokens_per_second, 1),
            "drafting_tokens_per_second": round(drafting.tokens_per_second, 1),
            "gain": round(drafting.tokens_per_second / plain.tokens_per_second, 2),
        }
        print(json.dumps(record), flush=True)


def load(shape: str, weights: WeightFormat, threads: int, *, draft_head: bool) -> TransformerModel:
    """A random model of this shape."""
    config = config_of(shape)
    config = config if draft_head else replace(config, draft_layer=None)
    model = model_from_tensors(config, dict(random_tensors(config, 0).items()), weights=weights, threads=threads)
    assert isinstance(model, TransformerModel)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shape", choices=SHAPES, default="0.8B")
    parser.add_argument("--weights", choices=("float32", "bfloat16", "int8", "int4"), default="int8")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--drafts", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--acceptance", type=float, nargs="+", default=[0.0, 0.6, 0.8, 0.95])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--without-head", action="store_true", help="only the rate of a model without its head")
    arguments = parser.parse_args()
    model = load(arguments.shape, arguments.weights, arguments.threads, draft_head=not arguments.without_head)
    for batch in arguments.batch:
        if arguments.without_head:
            generator = np.random.default_rng(1)
            prompts = [generator.integers(1, model.config.vocab_size, PROMPT_TOKENS).tolist() for _ in range(batch)]
            params = SamplingParams(max_tokens=arguments.tokens, temperature=0.0, ignore_eos=True)
            best = max(run(model, prompts, params, 0).tokens_per_second for _ in range(arguments.rounds))
            print(json.dumps({"batch": batch, "tokens_per_second": round(best, 1)}), flush=True)
        else:
            compare(model, batch, arguments.acceptance, arguments)
    model.close()


if __name__ == "__main__":
    main()

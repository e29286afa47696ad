"""Cost of the gate on the prompt: its tap in the step that computes a prompt, and its probe in the router.

python -m benchmarks.escalation.prompt_tap

Prompts with and without a tap take turns, on one thread; the least CPU time of all rounds counts.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.prompt_probe import PromptProbe
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.text import load_text_model
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import load_model

BLOCK_SIZE = 16


class PromptTapBench:
    """An engine with the embedded model."""

    def __init__(self) -> None:
        path = resolve_model("cactus-sprout")
        self._model = load_model(path, weights="int8", threads=1)
        self.layer = self._model.config.num_layers // 2
        limits = EngineLimits(cache_blocks=64, block_size=BLOCK_SIZE, max_sequences=4, token_budget=256)
        tokenizer = load_text_model(path).tokenizer
        self._engine = Engine(self._model, TextOptions(tokenizer, frozenset()), limits)
        self._generator = np.random.default_rng(1)
        self._num_asked = 0

    def first_token(self, num_prompt_tokens: int, *, is_tapped: bool) -> tuple[float, bytes]:
        """Seconds until the first token, and the hidden state."""
        self._num_asked += 1
        prompt = self._generator.integers(300, self._model.config.vocab_size, num_prompt_tokens).tolist()
        params = SamplingParams(max_tokens=1, ignore_eos=True, cache_prompt=False)
        layers = [self.layer] if is_tapped else []
        self._engine.add(Dispatch(self._num_asked, f"{self._num_asked:032x}", prompt, [], params, tapped_layers=layers))
        began, state = time.process_time(), b""
        while self._engine.has_work:
            for delta in self._engine.step():
                if delta.extras is not None and delta.extras.prompt_states:
                    state = delta.extras.prompt_states[self.layer]
        return time.process_time() - began, state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    arguments = parser.parse_args()
    bench = PromptTapBench()
    state = bench.first_token(32, is_tapped=True)[1]
    bench.first_token(32, is_tapped=False)
    print("prompt tokens  first token (us)  with a tap  ratio")
    for num_tokens in (16, 64, 256):
        plain, tapped = [], []
        for _ in range(arguments.rounds):
            plain.append(bench.first_token(num_tokens, is_tapped=False)[0])
            tapped.append(bench.first_token(num_tokens, is_tapped=True)[0])
        print(f"{num_tokens:13} {1e6 * min(plain):17.0f} {1e6 * min(tapped):11.0f} {min(tapped) / min(plain):6.3f}")
    weights = [0.1] * (len(state) // 4)
    probe = PromptProbe(fingerprint="", layer=bench.layer, has_second=False, bias=0.0, weights=weights)
    seconds = []
    for _ in range(arguments.rounds):
        began = time.process_time()
        probe(state)
        seconds.append(time.process_time() - began)
    print(f"the probe of {len(weights)} numbers: {1e6 * min(seconds):.1f} us")


if __name__ == "__main__":
    main()

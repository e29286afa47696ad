"""OpenVINO GenAI's continuous batching as one side of a comparison (see side.py).

python benchmarks/openvino_side.py MODEL_DIRECTORY THREADS

Needs NumPy and openvino-genai alone, so that it runs in an environment of its own. The directory has the files that
`optimum-cli export openvino` writes; no tokenizer is needed.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino_genai
from numpy.typing import NDArray

FIRST_ORDINARY_ID = 300
BLOCK_SIZE = 32
MAX_BATCH_TOKENS = 2048


class OpenVinoSide:
    """One model. A pipeline is kept until a measurement needs one of another kind."""

    def __init__(self, path: Path, threads: int) -> None:
        self._path = path
        self._threads = threads
        self._vocab_size = json.loads((path / "config.json").read_text())["vocab_size"]
        self._kind: tuple[int, int, bool] | None = None
        self._pipeline: Any = None
        self._request_ids = count(1)

    def about(self) -> dict[str, Any]:
        """Description of the side, for the printed table."""
        return {"kernels": f"OpenVINO {openvino.__version__.split('-')[0]}"}

    def prefill(self, batch: int, prompt_tokens: int, seed: int) -> dict[str, float]:
        """Time to the first tokens of a batch of new prompts."""
        pipeline = self._of_kind(batch, prompt_tokens + 1, keeps=False)
        handles = self._add(pipeline, self._prompts(seed, batch, prompt_tokens), max_tokens=1)
        started = time.perf_counter()
        num_tokens = finish(pipeline, handles)
        seconds = time.perf_counter() - started
        assert num_tokens == batch
        return {"seconds": seconds, "tokens": batch * prompt_tokens}

    def decode(self, batch: int, prompt_tokens: int, decode_tokens: int, seed: int, repeated: bool) -> dict[str, float]:
        """Time of decode steps of a batch after its prompts; `repeated` prompts may be found in the cache."""
        while_others_prefill = -(-prompt_tokens * batch // MAX_BATCH_TOKENS)
        longest = prompt_tokens + decode_tokens + while_others_prefill + 2
        pipeline = self._of_kind(batch, longest, keeps=repeated)
        prompts = self._prompts(seed, batch, prompt_tokens)
        handles = self._add(pipeline, prompts, max_tokens=longest - prompt_tokens)
        unanswered = list(handles)
        while unanswered:
            pipeline.step()
            unanswered = [handle for handle in unanswered if not handle.can_read()]
        read_tokens(handles)
        started = time.perf_counter()
        for _ in range(decode_tokens):
            pipeline.step()
        seconds = time.perf_counter() - started
        num_tokens = read_tokens(handles)
        finish(pipeline, handles)
        return {"seconds": seconds, "tokens": num_tokens}

    def first_token(self, prefix_tokens: int, suffix_tokens: int, seed: int, cached: bool) -> dict[str, float]:
        """Time to the first token of a single prompt: its prefix is in the cache, or it is new."""
        pipeline = self._of_kind(4, prefix_tokens + suffix_tokens + 1, keeps=cached)
        prefix = self._prompts(-1 if cached else seed, 1, prefix_tokens)
        if cached:
            finish(pipeline, self._add(pipeline, prefix, max_tokens=1))
        prompt = np.concatenate([prefix, self._prompts(seed, 1, suffix_tokens)], axis=1)
        handles = self._add(pipeline, prompt, max_tokens=1)
        started = time.perf_counter()
        num_tokens = finish(pipeline, handles)
        return {"seconds": time.perf_counter() - started, "tokens": num_tokens}

    def _of_kind(self, batch: int, longest: int, *, keeps: bool) -> Any:
        """The pipeline for such batches. Prefix caching is fixed when a pipeline is made."""
        kind = (batch, longest, keeps)
        if kind != self._kind:
            self._pipeline = None
            config = openvino_genai.SchedulerConfig()
            config.num_kv_blocks = batch * (longest // BLOCK_SIZE + 2)
            config.max_num_batched_tokens = MAX_BATCH_TOKENS
            config.max_num_seqs = batch
            config.enable_prefix_caching = keeps
            self._pipeline = openvino_genai.ContinuousBatchingPipeline(
                str(self._path), config, "CPU", {"INFERENCE_NUM_THREADS": self._threads}
            )
            self._kind = kind
        return self._pipeline

    def _add(self, pipeline: Any, prompts: NDArray[np.int64], *, max_tokens: int) -> list[Any]:
        config = openvino_genai.GenerationConfig()
        config.max_new_tokens = max_tokens
        config.ignore_eos = True
        config.do_sample = False
        return [
            pipeline.add_request(next(self._request_ids), openvino.Tensor(prompt[None, :].copy()), config)
            for prompt in prompts
        ]

    def _prompts(self, seed: int, batch: int, num_tokens: int) -> NDArray[np.int64]:
        generator = np.random.default_rng(seed + 1)
        return generator.integers(FIRST_ORDINARY_ID, self._vocab_size, (batch, num_tokens))


def finish(pipeline: Any, handles: list[Any]) -> int:
    """Step until all requests are done; return the number of tokens. A request without a handle is dropped."""
    while pipeline.has_non_finished_requests():
        pipeline.step()
    return read_tokens(handles)


def read_tokens(handles: list[Any]) -> int:
    """Take the tokens since the last call; return their number."""
    num_tokens = 0
    for handle in handles:
        while handle.can_read():
            num_tokens += sum(len(output.generated_ids) for output in handle.read().values())
    return num_tokens


def main() -> None:
    path, threads = sys.argv[1:]
    side = OpenVinoSide(Path(path), int(threads))
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(side, request.pop("measurement"))(**request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

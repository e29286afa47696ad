"""llama.cpp, through the low-level calls of llama-cpp-python, as one side of a comparison (see side.py).

python benchmarks/llama_cpp_side.py MODEL.gguf THREADS

Needs NumPy and llama-cpp-python alone, so that it runs in an environment of its own. Sequences have KV
streams of their own and tokens are the argmax of the logits: the fastest way for llama.cpp here.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

FIRST_ORDINARY_ID = 300
MAX_BATCH_TOKENS = 2048


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def quiet(level: int, text: bytes, _: Any) -> None:
    """Pass on errors only."""
    if level == 4:  # GGML_LOG_LEVEL_ERROR
        sys.stderr.write(text.decode())


class LlamaCppSide:
    """One model. A context is kept until a measurement needs one of another size."""

    def __init__(self, path: str, threads: int) -> None:
        llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self._model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        if self._model is None:
            sys.exit(f"llama.cpp cannot load {path}")
        self._vocab_size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self._model))
        self._threads = threads
        self._size = (0, 0)
        self._context: Any = None
        self._cached: Any = None  # tokens of each sequence in the context
        self._first_tokens = np.empty(0, dtype=np.int32)
        self._batch = llama_cpp.llama_batch_init(MAX_BATCH_TOKENS, 0, 1)

    def about(self) -> dict[str, Any]:
        """Description of the side, for the printed table."""
        features = llama_cpp.llama_print_system_info().decode()
        return {"kernels": " ".join(f.split(" = ")[0].strip() for f in features.split("|") if " = 1" in f)}

    def prefill(self, batch: int, prompt_tokens: int, seed: int) -> dict[str, float]:
        """Time to the first tokens of a batch of new prompts."""
        self._empty(batch, prompt_tokens + 1)
        prompts = self._prompts(seed, batch, prompt_tokens)
        started = time.perf_counter()
        self._prefill(prompts)
        return {"seconds": time.perf_counter() - started, "tokens": batch * prompt_tokens}

    def decode(self, batch: int, prompt_tokens: int, decode_tokens: int, seed: int, repeated: bool) -> dict[str, float]:
        """Time of decode steps of a batch after its prompts; `repeated` prompts may be found in the cache."""
        holds = (batch, prompt_tokens, seed)
        if repeated and self._cached == holds:
            for sequence in range(batch):
                self._forget(sequence, prompt_tokens)
        else:
            self._empty(batch, prompt_tokens + decode_tokens)
            self._first_tokens = self._prefill(self._prompts(seed, batch, prompt_tokens))
            self._cached = holds
        tokens = self._first_tokens
        sequences = np.arange(batch)
        started = time.perf_counter()
        for step in range(decode_tokens):
            tokens = self._decode(tokens, np.full(batch, prompt_tokens + step), sequences, sequences)
        return {"seconds": time.perf_counter() - started, "tokens": batch * decode_tokens}

    def first_token(self, prefix_tokens: int, suffix_tokens: int, seed: int, cached: bool) -> dict[str, float]:
        """Time to the first token of a single prompt: its prefix is in the cache, or it is new."""
        holds = ("prefix", prefix_tokens)
        if not cached or self._cached != holds:
            self._empty(1, prefix_tokens + suffix_tokens + 1)
        prefix = self._prompts(-1 if cached else seed, 1, prefix_tokens)
        if cached and self._cached == holds:
            self._forget(0, prefix_tokens)
        elif cached:
            self._prefill(prefix)
            self._cached = holds
        suffix = self._prompts(seed, 1, suffix_tokens)
        started = time.perf_counter()
        if cached:
            self._prefill(suffix, first_position=prefix_tokens)
        else:
            self._prefill(np.concatenate([prefix, suffix], axis=1))
        return {"seconds": time.perf_counter() - started, "tokens": 1}

    def _empty(self, batch: int, longest: int) -> None:
        """Make an empty context for `batch` sequences of `longest` tokens."""
        self._cached = None
        size = (batch, -(-longest // 256) * 256)
        if self._context is not None and self._size == size:
            llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self._context), True)
            return
        if self._context is not None:
            llama_cpp.llama_free(self._context)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = size[0] * size[1]
        params.n_batch = MAX_BATCH_TOKENS
        params.n_seq_max = batch
        params.n_threads = params.n_threads_batch = self._threads
        params.kv_unified = False
        params.no_perf = True
        self._context = llama_cpp.llama_init_from_model(self._model, params)
        if self._context is None:
            sys.exit(f"llama.cpp has no room for {batch} sequences of {longest} tokens")
        self._size = size

    def _prefill(self, prompts: NDArray[np.int64], first_position: int = 0) -> NDArray[np.int32]:
        """Compute prompts of equal length together; return the token after each."""
        batch, num_tokens = prompts.shape
        width = MAX_BATCH_TOKENS // batch
        tokens = np.empty(0, dtype=np.int32)
        for start in range(0, num_tokens, width):
            chunk = prompts[:, start : start + width]
            positions = np.arange(start, start + chunk.shape[1]) + first_position
            is_last = start + width >= num_tokens
            ends = np.arange(1, batch + 1) * chunk.shape[1] - 1 if is_last else np.empty(0, dtype=np.int64)
            sequences = np.repeat(np.arange(batch), chunk.shape[1])
            tokens = self._decode(chunk.reshape(-1), np.tile(positions, batch), sequences, ends)
        return tokens

    def _decode(
        self,
        tokens: NDArray[Any],
        positions: NDArray[np.int64],
        sequences: NDArray[np.int64],
        logit_rows: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """Call llama_decode once; return the token after each of `logit_rows`."""
        batch = self._batch
        batch.n_tokens = num_tokens = tokens.size
        view(batch.token, num_tokens)[:] = tokens
        view(batch.pos, num_tokens)[:] = positions
        view(batch.n_seq_id, num_tokens)[:] = 1
        view(batch.logits, num_tokens)[:] = 0
        view(batch.logits, num_tokens)[logit_rows] = 1
        for row, sequence in enumerate(sequences.tolist()):
            batch.seq_id[row][0] = sequence
        if (code := llama_cpp.llama_decode(self._context, batch)) != 0:
            sys.exit(f"llama_decode failed with {code}")
        llama_cpp.llama_synchronize(self._context)
        logits = (llama_cpp.llama_get_logits_ith(self._context, row) for row in logit_rows.tolist())
        return np.array([view(row, self._vocab_size).argmax() for row in logits], dtype=np.int32)

    def _forget(self, sequence: int, first_position: int) -> None:
        llama_cpp.llama_memory_seq_rm(llama_cpp.llama_get_memory(self._context), sequence, first_position, -1)

    def _prompts(self, seed: int, batch: int, num_tokens: int) -> NDArray[np.int64]:
        generator = np.random.default_rng(seed + 1)
        return generator.integers(FIRST_ORDINARY_ID, self._vocab_size, (batch, num_tokens))


def view(pointer: Any, size: int) -> NDArray[Any]:
    """The array of `size` elements behind a ctypes pointer."""
    return np.ctypeslib.as_array(pointer, (size,))


def main() -> None:
    path, threads = sys.argv[1:]
    side = LlamaCppSide(path, int(threads))
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(side, request.pop("measurement"))(**request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

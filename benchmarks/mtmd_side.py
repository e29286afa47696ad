"""llama.cpp with its library for pictures (mtmd), as one side of a comparison (see side.py and pictures.py).

python benchmarks/mtmd_side.py MODEL.gguf MMPROJ.gguf THREADS

Needs NumPy and llama-cpp-python alone, as llama_cpp_side.py. Only the last tile of a picture is used: with the side of
a tile as its sides it is the whole picture, like the only tile of the other side.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from typing import Any

import llama_cpp
import numpy as np
from llama_cpp import mtmd_cpp as mtmd
from numpy.typing import NDArray

from benchmarks.llama_cpp_side import LlamaCppSide, quiet, view

IMAGE_CHUNK = 1
CONTEXT_OF_QUESTION = 256


class MtmdSide(LlamaCppSide):
    """A text model with its encoder."""

    def __init__(self, path: str, mmproj: str, threads: int) -> None:
        super().__init__(path, threads)
        params = mtmd.mtmd_context_params_default()
        params.use_gpu, params.print_timings, params.warmup = False, False, False
        params.n_threads = threads
        for set_log in (mtmd.mtmd_log_set, mtmd.mtmd_helper_log_set):
            set_log(quiet, ctypes.c_void_p(0))
        self._mtmd = mtmd.mtmd_init_from_file(mmproj.encode(), self._model, params)
        if self._mtmd is None:
            sys.exit(f"mtmd cannot load {mmproj}")
        self._width = llama_cpp.llama_model_n_embd_inp(self._model)

    def embeddings(self, width: int, height: int, seed: int, path: str) -> dict[str, float]:
        """Write the embeddings of a picture, (tokens, hidden), to a file of NumPy."""
        chunk, chunks = self._tile(width, height, seed)
        np.save(path, self._encoded(chunk))
        mtmd.mtmd_input_chunks_free(chunks)
        return {}

    def encode(self, width: int, height: int, seed: int, clock: str) -> dict[str, float]:
        """Time of the encoder for one tile, by a clock of the module `time`."""
        chunk, chunks = self._tile(width, height, seed)
        now = getattr(time, clock)
        started = now()
        self._encoded(chunk)
        seconds = now() - started
        mtmd.mtmd_input_chunks_free(chunks)
        return {"seconds": seconds, "tokens": 1}

    def questions(
        self,
        count: int,
        width: int,
        height: int,
        text_tokens: int,
        seed: int,
        until: str,  # noqa: ARG002 - all questions end together
        clock: str,
    ) -> dict[str, float]:
        """Time until the last of some questions has its first token, which is that of each on average.

        Each has a picture of its own between `text_tokens` tokens. Pictures are encoded one after the other, as by
        llama.cpp's server, and texts are computed together.
        """
        tiles = [self._tile(width, height, seed * 100 + number) for number in range(count)]
        self._empty(count, CONTEXT_OF_QUESTION)
        before, after = (self._prompts(seed + place, count, text_tokens) for place in (0, 1))
        now = getattr(time, clock)
        started = now()
        self._prefill(before)
        for sequence, (chunk, _) in enumerate(tiles):
            embeddings = self._encoded(chunk)
            past = llama_cpp.llama_pos(0)
            mtmd.mtmd_helper_decode_image_chunk(
                self._mtmd,
                self._context,
                chunk,
                embeddings.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
                text_tokens,
                sequence,
                len(embeddings),
                ctypes.byref(past),
                mtmd.mtmd_helper_post_decode_callback(0),
                ctypes.c_void_p(0),
            )
        self._prefill(after, first_position=past.value)
        seconds = now() - started
        for _, chunks in tiles:
            mtmd.mtmd_input_chunks_free(chunks)
        return {"seconds": seconds, "tokens": 1}

    def _tile(self, width: int, height: int, seed: int) -> tuple[Any, Any]:
        """The last tile of a picture, and the chunks that it belongs to."""
        pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
        bitmap = mtmd.mtmd_bitmap_init(width, height, pixels.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8)))
        marker = mtmd.mtmd_default_marker()
        text = mtmd.mtmd_input_text(marker, len(marker), False, True)
        chunks = mtmd.mtmd_input_chunks_init()
        bitmaps = (mtmd.mtmd_bitmap_p_ctypes * 1)(bitmap)
        if (code := mtmd.mtmd_tokenize(self._mtmd, chunks, ctypes.byref(text), bitmaps, 1)) != 0:
            sys.exit(f"mtmd_tokenize failed with {code}")
        mtmd.mtmd_bitmap_free(bitmap)
        found = [mtmd.mtmd_input_chunks_get(chunks, index) for index in range(mtmd.mtmd_input_chunks_size(chunks))]
        tiles = [chunk for chunk in found if mtmd.mtmd_input_chunk_get_type(chunk) == IMAGE_CHUNK]
        return tiles[-1], chunks

    def _encoded(self, chunk: Any) -> NDArray[np.float32]:
        if (code := mtmd.mtmd_encode_chunk(self._mtmd, chunk)) != 0:
            sys.exit(f"mtmd_encode_chunk failed with {code}")
        count = mtmd.mtmd_input_chunk_get_n_tokens(chunk)
        found: NDArray[np.float32] = view(mtmd.mtmd_get_output_embd(self._mtmd), count * self._width).copy()
        return found.reshape(count, self._width)


def main() -> None:
    path, mmproj, threads = sys.argv[1:]
    side = MtmdSide(path, mmproj, int(threads))
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(side, request.pop("measurement"))(**request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

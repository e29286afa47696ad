"""Identifies a model by the content of its files, not by their names or paths."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.pooling import POOLING_FILE

MAX_WHOLE_BYTES = 32 << 20
"""Bytes of the largest weight file that is hashed whole."""
HEAD_BYTES = 1 << 20
"""Bytes hashed of a larger one, with names, types and shapes of its tensors."""
NUM_PIECES = 256
PIECE_BYTES = 4096
DIGEST_BYTES = 8

_TEXT_FILES = (
    "config.json",
    "generation_config.json",
    "model.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "preprocessor_config.json",
    "processor_config.json",
    POOLING_FILE,
)


def model_fingerprint(path: Path, mmproj: Path | None = None) -> str:
    """16 hexadecimal digits for the model in `path`, a directory or a GGUF file; ModelFileInvalid otherwise.

    They are equal for equal files on any machine, and differ if configuration, tokenizer or weights differ, or those
    of the encoder in `mmproj`. For weight files above MAX_WHOLE_BYTES, length, head and NUM_PIECES evenly spaced
    pieces are hashed, so that a model of any size takes milliseconds: training changes all of a tensor, not a part of
    it.
    """
    if path.is_file():
        files = [(".gguf", path)] if mmproj is None else [(".gguf", path), ("mmproj.gguf", mmproj)]
    else:
        files = [(name, path / name) for name in _TEXT_FILES if (path / name).is_file()]
        files += [(file.name, file) for file in sorted(path.glob("*.safetensors"))]
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for name, file in files:
        digest.update(f"{name}\0".encode())
        digest.update(_digest_of(file, whole=name in _TEXT_FILES))
    return digest.hexdigest()


def _digest_of(path: Path, *, whole: bool) -> bytes:
    digest = hashlib.blake2b(digest_size=32)
    try:
        length = path.stat().st_size
        digest.update(length.to_bytes(8, "little"))
        with path.open("rb") as file:
            if whole or length <= MAX_WHOLE_BYTES:
                digest.update(file.read())
            else:
                digest.update(file.read(HEAD_BYTES))
                last = length - PIECE_BYTES
                for piece in range(NUM_PIECES):
                    file.seek(HEAD_BYTES + (last - HEAD_BYTES) * piece // (NUM_PIECES - 1))
                    digest.update(file.read(PIECE_BYTES))
    except OSError as error:
        raise invalid(path, f"cannot be read: {error.strerror or error}") from None
    return digest.digest()

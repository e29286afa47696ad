"""Tokenizers of GGUF files against external vectors, in the format of llama.cpp's repository.

CACTUS_TOKENIZER_VECTORS names a directory of NAME.gguf (vocabulary only), NAME.gguf.inp (texts with a
separator line between) and NAME.gguf.out (the token ids of each text, one line each).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.text.gguf_tokenizer import tokenizer_from_gguf

VARIABLE = "CACTUS_TOKENIZER_VECTORS"
SEPARATOR = "\n__ggml_vocab_test__\n"

pytestmark = pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no directory of vectors")


def vocabularies() -> list[Path]:
    """The files with texts and token ids next to them."""
    files = sorted(Path(os.environ.get(VARIABLE, os.devnull)).glob("*.gguf"))
    return [file for file in files if all(Path(f"{file}{end}").is_file() for end in (".inp", ".out"))]


def test_vectors_are_found() -> None:
    assert vocabularies(), f"no .gguf with .inp and .out in {os.environ[VARIABLE]}"


@pytest.mark.parametrize("path", vocabularies(), ids=lambda path: path.stem)
def test_token_ids_equal_the_vectors(path: Path) -> None:
    tokenizer = tokenizer_from_gguf(open_gguf(path))
    texts = Path(f"{path}.inp").read_text(encoding="utf-8").removesuffix(SEPARATOR).split(SEPARATOR)
    lines = Path(f"{path}.out").read_text(encoding="utf-8").splitlines()
    assert len(texts) == len(lines)
    for text, line in zip(texts, lines, strict=True):
        ids = tokenizer.encode(text, add_special=False, parse_special=False)
        assert ids == [int(token_id) for token_id in line.split()], repr(text)

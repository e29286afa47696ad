"""Vocabularies of embedding models: WordPiece, unigram, and a character map."""

from __future__ import annotations

import struct

WORD_PIECES = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581un", "aff", "able", "\u2581hello", "\u2581hell", "o"),
    *("\u2581,", "\u2581!", "\u2581[", "\u2581]", "\u2581sep", "\u2581\u6f22", "\u2581a", "\u2581Un", "a"),
]
UNIGRAMS = {
    **{"<pad>": 0.0, "</s>": 0.0, "<unk>": 0.0, "\u2581": -2.0, "a": -3.0, "b": -3.0, "c": -3.0},
    **{"ab": -4.0, "bc": -4.5, "\u2581ab": -4.2, "\u2581a": -3.5, "<s>": 0.0},
}


def character_map(pairs: dict[str, str]) -> bytes:
    """A `precompiled_charsmap` that replaces single bytes: a double array, and the texts it points into.

    The children of the root are the units 256 ^ byte, the leaf below each 512 away.
    """
    units, texts = [0] * 1024, b""
    units[0] = 256 << 10
    for character, replacement in pairs.items():
        (byte,) = character.encode()
        units[256 ^ byte] = 512 << 10 | 1 << 8 | byte
        units[256 ^ byte ^ 512] = len(texts) | 1 << 31
        texts += replacement.encode() + b"\0"
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + texts

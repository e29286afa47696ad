"""Hashes of full blocks of tokens, with which workers report the content of their prefix caches.

A block's digest covers the salt and all tokens up to its last: two that are equal begin the same prompts. Its
short hash, the first 8 bytes, is for messages and for choosing a worker, for which a wrong match costs time only.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence

BLOCK_SIZE = 16
"""The default number of tokens of a block."""

DIGEST_BYTES = 16
_TOKEN_BYTES = 4


def root_digest(salt: str) -> bytes:
    """The parent digest of a prompt's first block."""
    return hashlib.blake2b(salt.encode(), digest_size=DIGEST_BYTES, person=b"salt").digest()


def block_digest(parent: bytes, tokens: bytes) -> bytes:
    """The digest of the block after `parent`; `tokens` are its token ids, int32, in native byte order."""
    return hashlib.blake2b(parent + tokens, digest_size=DIGEST_BYTES).digest()


def short_hash(digest: bytes) -> int:
    """The 64 bits of a digest that messages carry."""
    return int.from_bytes(digest[:8], "little")


def block_hashes(token_ids: Sequence[int], salt: str = "") -> tuple[int, ...]:
    """The short hashes of the full blocks of BLOCK_SIZE tokens."""
    tokens = array("i", token_ids).tobytes()
    hashes: list[int] = []
    digest = root_digest(salt)
    size = BLOCK_SIZE * _TOKEN_BYTES
    for start in range(0, len(tokens) - size + 1, size):
        digest = block_digest(digest, tokens[start : start + size])
        hashes.append(short_hash(digest))
    return tuple(hashes)

"""Checks a SentencePiece character map, whose reader in the `tokenizers` package trusts every index in it.

A map is a double array, the trie of replaced texts (Darts-clone; Kanda et al. 2018), and the texts that its
leaves point into. A unit of the array has a label in its lowest byte, at bit 8 a flag for a leaf, and above that
the distance to its children, exclusive or. A leaf has bit 31 and a place in the texts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BYTES = np.arange(1, 256, dtype=np.uint32)
LABEL = np.uint32(1 << 31 | 0xFF)
VALUE = np.uint32((1 << 31) - 1)


def fault_in_character_map(stored: bytes) -> str | None:
    """A fault that would crash the reader on some text; None if there is none."""
    array_bytes = int.from_bytes(stored[:4], "little")
    if len(stored) < 4 or array_bytes % 4 or not 4 <= array_bytes <= len(stored) - 4:
        return f"an array of {array_bytes} bytes in a map of {len(stored)}"
    units = np.frombuffer(stored, "<u4", array_bytes // 4, 4)
    texts = stored[4 + array_bytes :]
    try:
        texts.decode("utf-8")
    except UnicodeDecodeError:
        return "texts that are not valid UTF-8"
    places = _places(units)
    if places is None:
        return "an index beyond the array"
    is_start = np.array([byte & 0xC0 != 0x80 for byte in texts], bool)
    if len(places) and (int(places.max()) >= len(texts) or not is_start[places].all()):
        return "a replacement that begins at no character of the texts"
    return None


def _places(units: NDArray[np.uint32]) -> NDArray[np.uint32] | None:
    """The offsets in the texts of all reachable leaves; None if one points out of the array."""
    seen = np.zeros(len(units), bool)
    leaves: list[NDArray[np.uint32]] = []
    reached = np.zeros(1, np.uint32)
    while len(reached):
        seen[reached] = True
        children = (reached ^ _distances(units[reached]))[:, None] ^ BYTES  # (nodes, bytes)
        if children.max() >= len(units):
            return None
        found = children[units[children] & LABEL == BYTES]
        with_leaf = found[units[found] >> np.uint32(8) & np.uint32(1) == 1]
        leaves.append(with_leaf ^ _distances(units[with_leaf]))
        reached = np.unique(found[~seen[found]])
    all_leaves = np.concatenate(leaves)
    if len(all_leaves) and all_leaves.max() >= len(units):
        return None
    return units[all_leaves] & VALUE


def _distances(units: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """From a node to its children; a bit says that the distance counts 256 units at a time."""
    shift = (units & np.uint32(1 << 9)) >> np.uint32(6)
    distances: NDArray[np.uint32] = (units >> np.uint32(10)) << shift
    return distances

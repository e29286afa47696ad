"""The size of a WebP picture by its header (RFC 9649)."""

from __future__ import annotations


def webp_size(content: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None if `content` is not a WebP file."""
    if len(content) < 30 or content[:4] != b"RIFF" or content[8:12] != b"WEBP":
        return None
    kind = content[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(content[24:27], "little"), 1 + int.from_bytes(content[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(content[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = (int.from_bytes(content[at : at + 2], "little") for at in (26, 28))
        return width & 0x3FFF, height & 0x3FFF
    return None

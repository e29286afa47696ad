"""Names of types of files that are not decoded, for errors."""

from __future__ import annotations

HEAD_BYTES = 1024
"""The bytes at the beginning in which the name of an element of SVG is searched."""

_SIGNATURES = (
    (b"II*\0", "a TIFF file"),
    (b"MM\0*", "a TIFF file"),
    (b"%PDF-", "a PDF file"),
    (b"\0\0\0\x0cjP  ", "a JPEG 2000 file"),
    (b"\xff\x4f\xff\x51", "a JPEG 2000 file"),
    (b"\xff\x0a", "a JPEG XL file"),
    (b"\0\0\0\x0cJXL ", "a JPEG XL file"),
)
_BRANDS = {b"avif": "an AVIF file", b"avis": "an AVIF file"}
_HEIC_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})


def other_type(content: bytes) -> str | None:
    """The type of a file by its first bytes, with its article; None for an unknown one."""
    for signature, name in _SIGNATURES:
        if content.startswith(signature):
            return name
    if content[4:8] == b"ftyp":  # ISO/IEC 14496-12: the major brand, then the compatible ones
        brand = content[8:12]
        return _BRANDS.get(brand) or ("a HEIC file" if brand in _HEIC_BRANDS else None)
    head = content[:HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return "an SVG file" if head.startswith(b"<") and b"<svg" in head else None

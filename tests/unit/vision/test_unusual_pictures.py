"""Variants of the supported formats are decoded right, and other formats are refused by their names."""

from __future__ import annotations

import io
import resource
import struct
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from PIL import Image, ImageCms

from cactus_actors.protocol.errors import MediaInvalid, MediaTooLarge
from cactus_actors.vision.picture_decoder import decoded
from tests.goldens.sample_pictures import sample_picture

PICTURE = sample_picture(40, 30, seed=0)
OTHER = sample_picture(40, 30, seed=1)
BOMB_MIB = 64
MAX_GROWTH_KIB = 32 << 10


def encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    content = io.BytesIO()
    picture.save(content, kind, **options)
    return content.getvalue()


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


@cache
def bomb() -> bytes:
    """Compressed zeros, made without memory for all of them."""
    compressor = zlib.compressobj()
    return b"".join(compressor.compress(bytes(1 << 20)) for _ in range(BOMB_MIB)) + compressor.flush()


def interlaced(picture: Image.Image) -> bytes:
    """A PNG in the seven passes of Adam7."""
    rows = []
    for left, top, across, down in (
        *((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2)),
        (0, 1, 1, 2),
    ):
        for y in range(top, picture.height, down):
            pixels = [picture.getpixel((x, y)) for x in range(left, picture.width, across)]
            rows.append(b"\0" + b"".join(bytes(pixel) for pixel in pixels if isinstance(pixel, tuple)))
    header = struct.pack(">IIBBBBB", *picture.size, 8, 2, 0, 0, 1)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def with_chunk(kind: bytes, content: bytes) -> bytes:
    """A PNG with one more chunk after its header."""
    png = encoded(PICTURE, "PNG")
    return png[:33] + chunk(kind, content) + png[33:]


@pytest.mark.parametrize("size", [(0, 0), (0, 4), (4, 0)])
def test_a_picture_without_pixels_and_a_bare_signature_are_damaged(size: tuple[int, int]) -> None:
    signature = b"\x89PNG\r\n\x1a\n"
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, 2, 0, 0, 0))
    empty = signature + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    for content in (empty, signature, b"GIF89a"):
        with pytest.raises(MediaInvalid, match=r"^truncated or damaged$"):
            decoded(content)


def test_an_interlaced_png_has_the_same_pixels() -> None:
    assert decoded(interlaced(PICTURE)).tobytes() == PICTURE.tobytes()


def test_bytes_after_a_picture_and_colour_profiles_change_no_pixel() -> None:
    profiles = [ImageCms.ImageCmsProfile(ImageCms.createProfile(space)).tobytes() for space in ("sRGB", "LAB")]
    for content in (
        encoded(PICTURE, "PNG") + b"more",
        *(encoded(PICTURE, "PNG", icc_profile=profile) for profile in profiles),
        *(encoded(PICTURE, "WEBP", lossless=True, icc_profile=profile) for profile in profiles),
    ):
        assert decoded(content).tobytes() == PICTURE.tobytes()
    plain = decoded(encoded(PICTURE, "JPEG"))
    assert decoded(encoded(PICTURE, "JPEG", icc_profile=b"no profile")).tobytes() == plain.tobytes()


@pytest.mark.parametrize("subsampling", [0, 2])
def test_a_progressive_jpeg_has_the_pixels_of_a_baseline_one(subsampling: int) -> None:
    options = {"quality": 90, "subsampling": subsampling}
    baseline, progressive = (encoded(PICTURE, "JPEG", progressive=value, **options) for value in (False, True))
    assert b"\xff\xc2" in progressive
    assert decoded(progressive).tobytes() == decoded(baseline).tobytes()


def test_the_first_picture_of_several_is_used() -> None:
    several = encoded(PICTURE, "MPO", save_all=True, append_images=[OTHER, OTHER])
    assert decoded(several).tobytes() == decoded(encoded(PICTURE, "JPEG")).tobytes()
    frames = encoded(PICTURE, "WEBP", save_all=True, append_images=[OTHER] * 5, lossless=True)
    assert decoded(frames).tobytes() == PICTURE.tobytes()


def test_a_palette_with_partly_transparent_colours_is_blended_with_white() -> None:
    picture = Image.new("P", (3, 1))
    picture.putpalette([255, 0, 0, 0, 0, 255, 0, 100, 0])
    for x in range(3):
        picture.putpixel((x, 0), x)
    flat = decoded(encoded(picture, "PNG", transparency=bytes([0, 128, 255])))
    assert [flat.getpixel((x, 0)) for x in range(3)] == [(255, 255, 255), (127, 127, 255), (0, 100, 0)]


@pytest.mark.parametrize(("mode", "transparent", "other"), [("L", 7, 90), ("1", 0, 255), ("RGB", (1, 2, 3), (9, 8, 7))])
def test_one_transparent_colour_becomes_white(mode: str, transparent: Any, other: Any) -> None:
    picture = Image.new(mode, (2, 1), transparent)
    picture.putpixel((1, 0), other)
    flat = decoded(encoded(picture, "PNG", transparency=transparent))
    expected = other if isinstance(other, tuple) else (other,) * 3
    assert [flat.getpixel((x, 0)) for x in range(2)] == [(255, 255, 255), expected]


@pytest.mark.parametrize(("orientation", "size"), [(6, (30, 40)), (77, (40, 30)), (0, (40, 30))])
def test_exif_gives_no_more_than_the_orientation(orientation: int, size: tuple[int, int]) -> None:
    """Its own width and height are wrong here, and numbers that are no orientation turn nothing."""
    exif = Image.Exif()
    exif[274], exif[256], exif[257] = orientation, 99_999, 99_999
    assert decoded(encoded(PICTURE, "JPEG", exif=exif)).size == size


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA"])
def test_opaque_alpha_changes_no_pixel(mode: str) -> None:
    grey = PICTURE.convert("L")
    source = {"RGBA": PICTURE, "LA": grey.convert("RGB"), "PA": PICTURE.quantize(16).convert("RGB")}[mode]
    content = encoded(source.convert("LA") if mode == "LA" else source.convert("RGBA"), "PNG")
    assert decoded(content).tobytes() == source.tobytes()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG file"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<svg/>", "an SVG file"),
        (struct.pack(">I", 28) + b"ftypavif\0\0\0\0mif1avif", "an AVIF file"),
        (struct.pack(">I", 24) + b"ftypheic\0\0\0\0mif1heic", "a HEIC file"),
        (struct.pack(">I", 24) + b"ftypmif1\0\0\0\0mif1heic", "a HEIC file"),
        (encoded(PICTURE, "TIFF"), "a TIFF file"),
        (encoded(PICTURE, "JPEG2000"), "a JPEG 2000 file"),
        (b"%PDF-1.7\n", "a PDF file"),
        (b"\xff\x0a" + bytes(20), "a JPEG XL file"),
    ],
)
def test_a_refusal_names_the_type_of_the_file(content: bytes, name: str) -> None:
    with pytest.raises(MediaInvalid, match=f"^{name}, not a PNG, JPEG, WebP, GIF or BMP file$"):
        decoded(content)


@pytest.mark.parametrize(
    "content", [b"", b"<", b"\0" * 100, b"ftyp", encoded(PICTURE, "ICO"), b"\xff\xd8\xff\xf7" * 20]
)
def test_unknown_types_are_refused(content: bytes) -> None:
    with pytest.raises(MediaInvalid, match=r"^not a PNG, JPEG, WebP, GIF or BMP file$"):
        decoded(content)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: with_chunk(b"zTXt", b"a\0\0" + bomb()), MediaInvalid),
        (lambda: with_chunk(b"iCCP", b"a\0\0" + bomb()), MediaInvalid),
        (
            lambda: (
                b"GIF89a"
                + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0)
                + bytes(6)
                + b","
                + struct.pack("<HHHHB", 0, 0, 60_000, 60_000, 0)
                + b"\x02\x02\x44\x01\0;"
            ),
            MediaTooLarge,
        ),
    ],
    ids=["text of PNG", "profile of PNG", "frame of GIF"],
)
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_bombs_beside_the_pixels_take_no_memory(make: Callable[[], bytes], kind: type[MediaInvalid]) -> None:
    content = make()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(kind):
        decoded(content)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_GROWTH_KIB

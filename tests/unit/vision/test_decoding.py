"""Pictures of clients are decoded, or refused for a clear reason."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from PIL import Image

from cactus_actors.protocol.errors import MediaInvalid, MediaTooLarge
from cactus_actors.vision.picture_decoder import decoded
from cactus_actors.vision.webp_size import webp_size
from tests.goldens.sample_pictures import sample_picture

PICTURE = sample_picture(20, 12, seed=3)


def encoded(picture: Image.Image, kind: str, **options: object) -> bytes:
    content = io.BytesIO()
    picture.save(content, kind, **options)
    return content.getvalue()


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, depth: int = 8, colour: int = 2, pixels: bytes = b"") -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize(("kind", "options"), [("PNG", {}), ("BMP", {}), ("WEBP", {"lossless": True})])
def test_lossless_formats_give_the_same_pixels(kind: str, options: dict[str, object]) -> None:
    picture = decoded(encoded(PICTURE, kind, **options))
    assert (picture.mode, picture.size, picture.tobytes()) == ("RGB", PICTURE.size, PICTURE.tobytes())


@pytest.mark.parametrize("kind", ["JPEG", "WEBP", "GIF"])
def test_lossy_formats_give_the_same_size(kind: str) -> None:
    assert decoded(encoded(PICTURE, kind)).size == PICTURE.size


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK"])
def test_other_colour_modes_are_converted_to_rgb(mode: str) -> None:
    kind = "JPEG" if mode == "CMYK" else "PNG"
    given = Image.open(io.BytesIO(encoded(PICTURE.convert(mode), kind)))
    assert given.mode == mode
    assert decoded(encoded(PICTURE.convert(mode), kind)).tobytes() == given.convert("RGB").tobytes()


def test_grey_of_16_bits_keeps_the_upper_8() -> None:
    row = b"\0" + struct.pack(">4H", 0, 300, 30000, 65535)
    assert decoded(png(4, 1, depth=16, colour=0, pixels=row)).tobytes() == bytes(
        [0] * 3 + [1] * 3 + [117] * 3 + [255] * 3
    )


def test_colours_of_16_bits_keep_the_upper_8() -> None:
    row = b"\0" + struct.pack(">3H", 300, 30000, 65535)
    assert decoded(png(1, 1, depth=16, pixels=row)).tobytes() == bytes([1, 117, 255])


def test_transparent_pixels_are_blended_with_white() -> None:
    picture = Image.new("RGBA", (3, 200), (10, 20, 30, 0))
    picture.putpixel((1, 150), (200, 100, 0, 255))
    picture.putpixel((2, 150), (100, 100, 100, 128))
    flat = decoded(encoded(picture, "PNG"))
    assert [flat.getpixel((column, 150)) for column in range(3)] == [(255, 255, 255), (200, 100, 0), (177, 177, 177)]
    assert flat.getpixel((0, 0)) == (255, 255, 255)


def test_a_transparent_colour_of_a_palette_is_white() -> None:
    picture = Image.new("P", (2, 1))
    picture.putpalette([255, 0, 0, 0, 0, 255])
    picture.putpixel((1, 0), 1)
    flat = decoded(encoded(picture, "GIF", transparency=0))
    assert [flat.getpixel((column, 0)) for column in range(2)] == [(255, 255, 255), (0, 0, 255)]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_orientation_of_exif_is_applied(orientation: int) -> None:
    picture = Image.new("RGB", (24, 8), "black")
    picture.paste("white", (0, 0, 8, 8))  # the first of three squares
    exif = Image.Exif()
    exif[274] = orientation
    upright = decoded(encoded(picture, "JPEG", exif=exif, quality=100))
    places = {1: (4, 4), 2: (20, 4), 3: (20, 4), 4: (4, 4), 5: (4, 4), 6: (4, 4), 7: (4, 20), 8: (4, 20)}
    assert upright.size == ((24, 8) if orientation < 5 else (8, 24))
    white = upright.getpixel(places[orientation])
    assert isinstance(white, tuple)
    assert min(white) > 200


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_damaged_exif_is_ignored() -> None:
    content = encoded(PICTURE, "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + b"\xff" * 30)
    assert decoded(content).size == PICTURE.size


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_the_first_frame_of_an_animation_is_used(kind: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue", "green")]
    content = encoded(frames[0], kind, save_all=True, append_images=frames[1:], lossless=True)
    assert decoded(content).getpixel((4, 4)) == (255, 0, 0) or kind == "WEBP"
    assert decoded(content).size == (8, 8)


@pytest.mark.parametrize(("size", "kind"), [((1, 1), "PNG"), ((4000, 10), "PNG"), ((10, 4000), "GIF")])
def test_small_and_narrow_pictures_are_decoded(size: tuple[int, int], kind: str) -> None:
    assert decoded(encoded(Image.new("RGB", size, "red"), kind)).size == size


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_truncated_pictures_are_refused(kind: str) -> None:
    content = encoded(sample_picture(60, 60, seed=1), kind)
    for length in (0, 1, 12, 30, len(content) // 2, len(content) - 40):
        with pytest.raises(MediaInvalid):
            decoded(content[:length])


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_damaged_pictures_are_refused_or_decoded(kind: str) -> None:
    content = bytearray(encoded(sample_picture(40, 30, seed=1), kind))
    for place in range(0, len(content), max(1, len(content) // 60)):
        damaged = bytes([*content[:place], content[place] ^ 0x55, *content[place + 1 :]])
        try:
            picture = decoded(damaged, max_pixels=1_000_000)
        except (MediaInvalid, MediaTooLarge):
            continue
        assert picture.mode == "RGB"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%PDF-1.7",
        encoded(PICTURE, "TIFF"),
        encoded(PICTURE, "PPM"),
        encoded(PICTURE, "ICO"),
        b"GIF89a" + b"\xff" * 40,
    ],
    ids=["nothing", "SVG", "PDF", "TIFF", "PPM", "ICO", "GIF"],
)
def test_other_types_are_refused(content: bytes) -> None:
    with pytest.raises(MediaInvalid):
        decoded(content)


def webp(width: int, height: int) -> bytes:
    body = b"VP8X" + struct.pack("<I", 10) + bytes(4)
    body += (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


@pytest.mark.parametrize(
    "content",
    [
        png(65_000, 65_000),
        png(8_000, 8_000),
        b"GIF89a"
        + struct.pack("<HHBBB", 65_000, 65_000, 0, 0, 0)
        + b","
        + struct.pack("<HHHHB", 0, 0, 65_000, 65_000, 0)
        + b"\x08\x01\0\0;",
        b"BM"
        + struct.pack("<IHHI", 54, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, 65_000, 65_000, 1, 24, 0, 0, 0, 0, 0, 0),
        webp(16_000, 16_000),
    ],
    ids=["PNG", "PNG of less", "GIF", "BMP", "WebP"],
)
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_decompression_bombs_are_refused_by_their_header(content: bytes) -> None:
    with pytest.raises(MediaTooLarge):
        decoded(content)


def test_a_jpeg_of_very_many_scans_is_refused_before_it_is_decoded() -> None:
    content = encoded(PICTURE, "JPEG", progressive=True)
    start, end = content.index(b"\xff\xda"), content.index(b"\xff\xd9")
    assert decoded(content).size == (20, 12)
    first = content[start : content.index(b"\xff", start + 2)]
    with pytest.raises(MediaInvalid, match="more than 100 scans"):
        decoded(content[:end] + 100 * first + content[end:])


def test_the_limit_of_pixels_is_exact() -> None:
    content = encoded(PICTURE, "PNG")
    assert decoded(content, max_pixels=240).size == (20, 12)
    with pytest.raises(MediaTooLarge, match="20 x 12 pixels, 239 in all are allowed"):
        decoded(content, max_pixels=239)


@pytest.mark.parametrize("options", [{"lossless": True}, {"quality": 50}, {"lossless": True, "exif": b"Exif\0\0"}])
def test_the_size_of_webp_is_read_from_the_header(options: dict[str, object]) -> None:
    assert webp_size(encoded(PICTURE, "WEBP", **options)) == PICTURE.size
    assert webp_size(encoded(PICTURE, "PNG")) is None

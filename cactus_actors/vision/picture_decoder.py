"""Decodes pictures of clients: the first frame, upright, in RGB of 8 bits."""

from __future__ import annotations

import io

from PIL import ExifTags, Image, UnidentifiedImageError

from cactus_actors.protocol.errors import MediaInvalid, MediaTooLarge
from cactus_actors.vision.other_types import other_type
from cactus_actors.vision.picture_limits import LIMITS
from cactus_actors.vision.webp_size import webp_size

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
"""The accepted formats; each further decoder of Pillow would be one more target of attacks."""

MAX_SCANS = 100
"""Scans of a progressive JPEG; encoders write about ten. Each takes as long as a whole picture, and few bytes."""

_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a")
"""The first bytes of files that are damaged if they cannot be opened; those of JPEG-LS are the ones of JPEG."""

_STRIP_ROWS = 64
_SCAN = b"\xff\xda"
_Transpose = Image.Transpose
_TURNS = {
    2: _Transpose.FLIP_LEFT_RIGHT,
    3: _Transpose.ROTATE_180,
    4: _Transpose.FLIP_TOP_BOTTOM,
    5: _Transpose.TRANSPOSE,
    6: _Transpose.ROTATE_270,
    7: _Transpose.TRANSVERSE,
    8: _Transpose.ROTATE_90,
}
"""The operation that makes a picture upright, by EXIF's tag Orientation."""


def decoded(content: bytes, max_pixels: int = LIMITS.max_pixels) -> Image.Image:
    """The picture in `content`, in RGB.

    An animation yields its first frame. Transparent pixels are blended with white, 16 bits are reduced to 8, and the
    orientation of EXIF is applied. The size is checked in the header, before any pixel is decoded. Raises
    MediaInvalid for a file of another type or a damaged one, and MediaTooLarge.
    """
    if (size := webp_size(content)) is not None:  # Pillow allocates all pixels to read the header
        check_size(*size, max_pixels)
    flat, turn = _opened(content, max_pixels)  # the picture that Pillow decoded is freed before a copy is turned
    return flat if turn is None else flat.transpose(turn)


def _opened(content: bytes, max_pixels: int) -> tuple[Image.Image, Image.Transpose | None]:
    """The picture in RGB, and the transposition that makes it upright, if it needs one."""
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as picture:
            check_size(*picture.size, max_pixels)
            if picture.format in ("JPEG", "MPO") and content.count(_SCAN) > MAX_SCANS:
                raise MediaInvalid(f"a JPEG of more than {MAX_SCANS} scans")
            return _rgb(picture), _TURNS.get(_orientation(picture))
    except UnidentifiedImageError:
        if content.startswith(_SIGNATURES):
            raise MediaInvalid("truncated or damaged") from None
        found = other_type(content)
        raise MediaInvalid(f"{f'{found}, ' if found else ''}not a PNG, JPEG, WebP, GIF or BMP file") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise MediaTooLarge(f"more than {max_pixels} pixels") from None
    except (MediaInvalid, MediaTooLarge, MemoryError):
        raise
    except Exception:  # Pillow's decoders raise errors of many types, which mean nothing to a client
        raise MediaInvalid("truncated or damaged") from None


def check_size(width: int, height: int, max_pixels: int) -> None:
    """Raise MediaTooLarge for a picture of more pixels, and MediaInvalid for one without any."""
    if width * height > max_pixels:
        raise MediaTooLarge(f"{width} x {height} pixels, {max_pixels} in all are allowed")
    if width < 1 or height < 1:
        raise MediaInvalid(f"{width} x {height} pixels")


def _orientation(picture: Image.Image) -> int:
    """The value of EXIF's tag Orientation; 1 (upright) if it is missing or unreadable."""
    try:
        value = picture.getexif().get(ExifTags.Base.Orientation, 1)
    except MemoryError:
        raise
    except Exception:  # damaged EXIF data do not damage the pixels
        return 1
    return value if isinstance(value, int) else 1


def _rgb(picture: Image.Image) -> Image.Image:
    if picture.mode.startswith("I;16"):  # grey of 16 bits; the upper 8 are kept, as of colours of 16 bits
        picture = picture.point(lambda value: value * (1 / 256)).convert("L")
    if picture.mode in ("I", "F"):
        raise MediaInvalid("pixels of 32 bits are not supported")
    if "A" in picture.getbands() or "a" in picture.getbands() or picture.info.get("transparency") is not None:
        return _on_white(picture)
    return picture.convert("RGB")


def _on_white(picture: Image.Image) -> Image.Image:
    """The picture on a white background, composed in strips: whole copies would take several times its memory."""
    picture.load()
    flat = Image.new("RGB", picture.size)
    for top in range(0, picture.height, _STRIP_ROWS):
        strip = picture.crop((0, top, picture.width, min(top + _STRIP_ROWS, picture.height))).convert("RGBA")
        white = Image.new("RGBA", strip.size, (255, 255, 255, 255))
        flat.paste(Image.alpha_composite(white, strip).convert("RGB"), (0, top))
    return flat

"""Bad and unusual pictures at a running service: right answers, or one clear error; others are not held up."""

from __future__ import annotations

import io
import itertools
import os
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from cactus_actors.config import ServeConfig
from cactus_actors.protocol.errors import InvalidRequest, MediaInvalid, MediaTooLarge
from tests.goldens.sample_pictures import sample_picture
from tests.support.models.served_pictures import write_served_model
from tests.support.processes.process_usage import descendants, peak_mb
from tests.support.services.running_service import Running, running_service

OPTIONS: dict[str, Any] = {"temperature": 0.0, "max_tokens": 4, "ignore_eos": True}
PICTURE = sample_picture(40, 30, seed=0)
MAX_GROWTH_MB = 96.0
MAX_WAIT_S = 10.0
"""No text takes so long while bad pictures come; the machine of the tests may be busy."""


def encoded(picture: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    content = io.BytesIO()
    picture.save(content, kind, **options)
    return content.getvalue()


def png_header(width: int, height: int) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1 << 20))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def tiff_header(num_bytes: int) -> bytes:
    """A TIFF of one grey strip with that many bytes, which are not there."""
    tags = [(256, 10_000), (257, num_bytes // 10_000), (258, 8), (259, 1), (262, 1), (273, 200), (279, num_bytes)]
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4)


def turned() -> bytes:
    exif = Image.Exif()
    exif[274] = 3
    return encoded(PICTURE.transpose(Image.Transpose.ROTATE_180), exif=exif)


FRAMES = [sample_picture(40, 30, seed) for seed in range(3)]
SAME = {
    "EXIF rotation": turned(),
    "first frame": encoded(FRAMES[0], save_all=True, append_images=FRAMES[1:]),
    "alpha": encoded(PICTURE.convert("RGBA")),
    "BMP": encoded(PICTURE, "BMP"),
}
"""Pictures whose pixels are those of PICTURE."""

GOOD = {
    "CMYK": encoded(PICTURE.convert("CMYK"), "JPEG"),
    "16 bits": encoded(Image.new("I;16", (40, 30), 30_000)),
    "animated GIF": encoded(FRAMES[0], "GIF", save_all=True, append_images=FRAMES[1:] * 5),
    "one pixel": encoded(Image.new("RGB", (1, 1), "red")),
    "4,000 x 10": encoded(Image.new("RGB", (4000, 10), "red")),
}
"""Pictures that are answered."""

BAD: dict[str, tuple[bytes, type[InvalidRequest]]] = {
    "truncated PNG": (encoded(PICTURE)[:-60], MediaInvalid),
    "truncated JPEG": (encoded(PICTURE, "JPEG")[:-60], MediaInvalid),
    "PNG of 65,000 x 65,000": (png_header(65_000, 65_000), MediaTooLarge),
    "PNG of 8,000 x 8,000": (png_header(8_000, 8_000), MediaTooLarge),
    "GIF of 65,000 x 65,000": (
        b"GIF89a\xe8\xfd\xe8\xfd\0\0\0,\0\0\0\0\xe8\xfd\xe8\xfd\0\x08\x01\0\0;",
        MediaTooLarge,
    ),
    "TIFF of 100 MB": (tiff_header(100_000_000), MediaInvalid),
    "text": (b"no picture", MediaInvalid),
    "PDF": (b"%PDF-1.7\n" + bytes(1000), MediaInvalid),
    "nothing": (b"", MediaInvalid),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    directory = tmp_path_factory.mktemp("bad_pictures")
    config = ServeConfig(
        model=str(write_served_model(directory / "model", "smolvlm")),
        weights="float32",
        state_dir=directory / "state",
        jobs_endpoint="tcp://127.0.0.1:*",
        stream_endpoint="tcp://127.0.0.1:*",
    )
    with running_service(config) as running:
        yield running


def tokens_of(service: Running, *images: bytes) -> list[int]:
    message = {"role": "user", "content": "What is it?", "images": list(images)}
    return service.client.complete(messages=[message], **OPTIONS).token_ids


@pytest.mark.parametrize("name", SAME)
def test_pictures_with_the_same_pixels_have_the_same_answer(service: Running, name: str) -> None:
    assert tokens_of(service, SAME[name]) == tokens_of(service, encoded(PICTURE))


@pytest.mark.parametrize("name", GOOD)
def test_unusual_pictures_are_answered(service: Running, name: str) -> None:
    assert len(tokens_of(service, GOOD[name])) == OPTIONS["max_tokens"]


@pytest.mark.parametrize("name", BAD)
def test_a_bad_picture_is_refused_with_its_index(service: Running, name: str) -> None:
    content, kind = BAD[name]
    with pytest.raises(kind, match=r"^picture 1: ") as caught:
        tokens_of(service, encoded(PICTURE), content)
    assert (caught.value.status, caught.value.param) == (400, "messages[0].images[1]")


def test_bad_pictures_cost_no_process_and_no_memory_and_hold_nobody_up(service: Running) -> None:
    expected = service.client.complete("a text", **OPTIONS).token_ids
    tokens_of(service, encoded(PICTURE))
    before = preparers()
    waits: list[float] = []
    is_over = threading.Event()

    def ask_texts() -> None:
        while not is_over.is_set():
            begin = time.monotonic()
            assert service.client.complete("a text", **OPTIONS).token_ids == expected
            waits.append(time.monotonic() - begin)

    asking = threading.Thread(target=ask_texts)
    asking.start()
    try:
        for content, kind in itertools.chain(BAD.values(), BAD.values()):
            with pytest.raises(kind):
                tokens_of(service, encoded(PICTURE), content)
    finally:
        is_over.set()
        asking.join()
    after = preparers()
    assert before
    assert before.keys() <= after.keys(), "no bad picture ends a preparing process"
    assert all(after[pid] - peak < MAX_GROWTH_MB for pid, peak in before.items())
    assert waits
    assert max(waits) < MAX_WAIT_S


def preparers() -> dict[int, float]:
    """The peak memory of each preparing process of this service."""
    pids = descendants(os.getpid())
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids}
    return {pid: peak_mb(pid) for pid, command in commands.items() if b"preparer_child" in command}

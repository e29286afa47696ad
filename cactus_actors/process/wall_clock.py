"""Unix time for what is kept on disk, by a clock that nobody sets."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import msgspec

from cactus_actors.process.private_directories import make_private

FILE_NAME = "clock.json"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # random(4): another one each time the machine starts


class _Kept(msgspec.Struct, frozen=True):
    boot_id: str
    unix_offset: float


def unix_offset(directory: Path) -> float:
    """What added to the monotonic clock gives Unix seconds, for all who keep something in `directory`.

    It is the same until the machine is started again: a wall clock that is set meanwhile moves no deadline
    and no retention, across restarts of their process either. Where the machine does not tell that, or the
    directory cannot be written, it is what the wall clock says now.
    """
    path = directory / FILE_NAME
    now = time.time() - time.monotonic()
    with contextlib.suppress(OSError):
        boot_id = _BOOT_ID.read_text().strip()
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
            kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
            if kept.boot_id == boot_id:
                return kept.unix_offset
        make_private(directory)
        part = path.with_suffix(".part")
        part.write_bytes(msgspec.json.encode(_Kept(boot_id, now)))
        part.replace(path)
    return now

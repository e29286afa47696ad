"""Unix time for records on disk, unaffected by changes of the wall clock."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import msgspec

from cactus_actors.process.private_directories import make_private, replace_private

FILE_NAME = "clock.json"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # random(4): a new id at each boot


class _Kept(msgspec.Struct, frozen=True):
    boot_id: str
    unix_offset: float


def unix_offset(directory: Path, boot_id_file: Path = BOOT_ID) -> float:
    """The offset from the monotonic clock to Unix seconds, shared by all users of `directory`.

    It is constant until the next boot: setting the wall clock moves no deadline and no retention, even across
    restarts of a process. Without a boot id, or if the directory cannot be written, it follows the wall clock.
    """
    path = directory / FILE_NAME
    now = time.time() - time.monotonic()
    with contextlib.suppress(OSError):
        boot_id = boot_id_file.read_text().strip()
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
            kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
            if kept.boot_id == boot_id:
                return kept.unix_offset
        make_private(directory)
        replace_private(path, msgspec.json.encode(_Kept(boot_id, now)))
    return now

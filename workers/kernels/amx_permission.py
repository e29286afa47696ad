"""Permission to use Intel's AMX: Linux saves its registers only for processes that ask for it."""

from __future__ import annotations

import ctypes
import platform
from functools import cache

_SYS_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18
"""Numbers of Linux on x86-64 (arch/x86/include/uapi/asm/prctl.h)."""


@cache
def ask_for_amx() -> bool:
    """Ask for this process and its threads; False if the kernel has no AMX or refuses."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return False
    libc = ctypes.CDLL(None)
    return bool(libc.syscall(_SYS_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0)

"""Instructions for int8 of ARM CPUs, which LLVM does not detect: Linux tells of them."""

from __future__ import annotations

import ctypes
import platform
from functools import cache

from numba import config
from numba.core.codegen import get_host_cpu_features

_CAPABILITIES, _MORE_CAPABILITIES = 16, 26
"""Entries of the auxiliary vector (include/uapi/linux/auxvec.h)."""
_BITS = {"dotprod": (_CAPABILITIES, 20), "i8mm": (_MORE_CAPABILITIES, 13)}
"""Entry and bit by LLVM's name of a feature (arch/arm64/include/uapi/asm/hwcap.h)."""


@cache
def int8_features() -> frozenset[str]:
    """Those of this CPU, by LLVM's names; none on other systems than Linux."""
    if platform.system() != "Linux" or platform.machine() != "aarch64":
        return frozenset()
    entry_of = ctypes.CDLL(None).getauxval
    entry_of.argtypes, entry_of.restype = [ctypes.c_ulong], ctypes.c_ulong
    return frozenset(name for name, (entry, bit) in _BITS.items() if entry_of(entry) >> bit & 1)


def tell_numba() -> None:
    """Let numba compile for them, unless NUMBA_CPU_FEATURES has a list; before it compiles anything."""
    if config.CPU_FEATURES is None and int8_features():
        added = (f"+{name}" for name in sorted(int8_features()))
        config.CPU_FEATURES = ",".join(filter(None, (get_host_cpu_features(), *added)))

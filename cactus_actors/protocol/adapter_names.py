"""Names of adapters in requests."""

from __future__ import annotations

import re

NAME_RULE = "a name has at most 64 letters, digits and characters of -_./"


def is_adapter_name(name: str) -> bool:
    """True for a name that fits `model` in a request."""
    return re.fullmatch(r"[A-Za-z0-9_./-]{1,64}", name) is not None

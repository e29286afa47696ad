"""Grants of a key beyond its role."""

from __future__ import annotations

from typing import Annotated

import msgspec

MAX_WEIGHT = 1000

Weight = Annotated[int, msgspec.Meta(ge=1, le=MAX_WEIGHT)]
"""A tenant of weight 3 that waits gets three times the tokens of one of weight 1."""


class KeyGrants(msgspec.Struct, frozen=True):
    """Grants for a key's jobs: `weight` in fair sharing, and `allow_cloud`.

    An API key of HTTP that `is_operator` may load and unload adapters; for other keys, the role says so.
    """

    weight: Weight = 1
    allow_cloud: bool = True
    is_operator: bool = False


DEFAULT_GRANTS = KeyGrants()
"""Defaults, for callers without a key and for keys created without options."""

REVOKED_KEY_GRANTS = KeyGrants(allow_cloud=False)
"""For a removed key: its grants are unknown, so its jobs are not handed off."""

"""What the owner of a key is granted beyond its role."""

from __future__ import annotations

from typing import Annotated

import msgspec

MAX_WEIGHT = 1000

Weight = Annotated[int, msgspec.Meta(ge=1, le=MAX_WEIGHT)]
"""A tenant of weight 3 that waits gets three times the tokens of one of weight 1."""


class KeyGrants(msgspec.Struct, frozen=True):
    """What the jobs of a key get: its owner's `weight` among those who wait, and whether a cloud is asked."""

    weight: Weight = 1
    allow_cloud: bool = True


DEFAULT_GRANTS = KeyGrants()
"""Those of who needs no key, and of a key of which nothing else is said."""

REVOKED_KEY_GRANTS = KeyGrants(allow_cloud=False)
"""Those of a key that is gone: whether it allowed the cloud is not known any more."""

"""Whether a cloud is configured; without one there is no handoff actor."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.cloud_key import has_cloud_key

_DEFAULTS = HandoffSettings()


def is_cloud_configured(settings: HandoffSettings, environment: Mapping[str, str]) -> bool:
    """Whether there is a cloud key, or any setting of the handoff actor differs from its default.

    The actor decides whether they can be used. `cactus auth` may store a key at any time.
    """
    of_router = {
        name: getattr(settings, name) for name in ("confidence_signal", "probe_file", "max_share", "max_wait_s")
    }
    return has_cloud_key(environment) or settings != msgspec.structs.replace(_DEFAULTS, **of_router)

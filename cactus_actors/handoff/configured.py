"""Whether somebody has configured a cloud: without one no process is kept for it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.cloud_key import has_cloud_key

_DEFAULTS = HandoffSettings()


def is_cloud_configured(settings: HandoffSettings, environment: Mapping[str, str]) -> bool:
    """Whether there is a key, which `cactus auth` may store at any time, or any setting of the actor's own.

    Whether that can be used is for the actor to say.
    """
    of_router = {
        name: getattr(settings, name) for name in ("confidence_signal", "probe_file", "max_share", "max_wait_s")
    }
    return has_cloud_key(environment) or settings != msgspec.structs.replace(_DEFAULTS, **of_router)

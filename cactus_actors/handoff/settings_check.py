"""Checks the section `[handoff]` without a cloud, for the start of a service and for `cactus auth`."""

from __future__ import annotations

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.metering import Prices


def check_handoff(settings: HandoffSettings) -> None:
    """Raise ConfigurationInvalid for settings that the handoff actor would refuse."""
    from cactus_actors.handoff.cloud_access import check_base_url  # httpx: a service loads it only here

    check_base_url(settings.base_url)
    Prices.of(settings)


def plain_text_warning(settings: HandoffSettings) -> str | None:
    """The warning of a `base_url` that would get keys and prompts without TLS, over a network; None for others."""
    from cactus_actors.handoff.cloud_access import check_base_url, is_loopback

    url = check_base_url(settings.base_url)
    if url.scheme == "https" or is_loopback(url):
        return None
    return (
        f"[handoff] base_url {settings.base_url} has no TLS: keys and prompts would go there in plain text; "
        "a key is not sent, prompts without a key are; use https"
    )

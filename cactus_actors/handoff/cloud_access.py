"""Decides if the cloud may be used, and with which key."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.cloud_key import CloudKey, load_cloud_key
from cactus_actors.protocol.errors import ConfigurationInvalid

DISABLE_VARIABLE = "CACTUS_DISABLE_CLOUD_HANDOFF"


@dataclass(frozen=True)
class CloudAccess:
    """The key (None if none is needed), or the `refusal` that says why the cloud is not used."""

    key: CloudKey | None = None
    refusal: str | None = None


def read_cloud_access(settings: HandoffSettings, environment: Mapping[str, str]) -> CloudAccess:
    """Read the present access from settings, environment and credentials file.

    A key is sent over TLS or within this machine only.
    """
    if environment.get(DISABLE_VARIABLE, "") not in ("", "0"):
        return CloudAccess(refusal="disabled")
    url = httpx.URL(settings.base_url)
    local = is_loopback(url)
    try:
        key = load_cloud_key(environment)
    except ConfigurationInvalid as error:
        return CloudAccess(refusal=error.message)
    if key is None:
        required = not local if settings.require_key is None else settings.require_key
        return CloudAccess(refusal="no key" if required else None)
    if url.scheme != "https" and not local:
        return CloudAccess(refusal=f"a key is not sent to {url.host} without TLS")
    return CloudAccess(key=key)


def check_base_url(base_url: str) -> httpx.URL:
    """Parse the URL; raises ConfigurationInvalid if it cannot be used."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise ConfigurationInvalid(f"handoff base_url: {error}", param="handoff.base_url") from None
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        raise ConfigurationInvalid(
            "handoff base_url must be http(s)://host/path without a user name", param="handoff.base_url"
        )
    return url


def is_loopback(url: httpx.URL) -> bool:
    """True if the host is this machine, by name or literal address."""
    try:
        return ipaddress.ip_address(url.host).is_loopback
    except ValueError:
        return url.host == "localhost"

"""Checks that only this user can reach an endpoint."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from pathlib import Path

from cactus_actors.protocol.errors import ConfigurationInvalid


def is_private(endpoint: str) -> bool:
    """True if only this machine can connect: loopback, or a socket in a directory of mode 0700."""
    transport, _, place = endpoint.partition("://")
    if transport == "inproc":
        return True
    if transport == "ipc":
        return _is_in_private_directory(place)
    host = place.rpartition(":")[0].strip("[]")
    if host in ("localhost", "lo"):
        return True
    try:
        return transport == "tcp" and ipaddress.ip_address(host).is_loopback
    except ValueError:  # a wildcard, or the name of an interface
        return False


def check_exposure(endpoints: Iterable[str], *, has_keys: bool) -> None:
    """Raise ConfigurationInvalid for an endpoint that others can reach without a key."""
    for endpoint in endpoints:
        if has_keys or is_private(endpoint):
            continue
        if endpoint.startswith("ipc://"):
            raise ConfigurationInvalid(
                f"{endpoint}: other users of this machine can reach it; put it into a directory of mode 0700"
            )
        raise ConfigurationInvalid(
            f"{endpoint} can be reached from other machines, without any authentication: "
            "start with --curve and give each client a key (cactus keys new NAME --role client), "
            "or listen on 127.0.0.1"
        )


def _is_in_private_directory(path: str) -> bool:
    if path.startswith("@") or not path:  # abstract names have no permissions
        return False
    try:
        return not Path(path).absolute().parent.stat().st_mode & 0o077
    except OSError:
        return False

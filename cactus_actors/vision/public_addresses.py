"""Distinguishes public addresses from those of this machine, of its network, and reserved ones."""

from __future__ import annotations

import ipaddress
import socket
import threading

from cactus_actors.protocol.errors import MediaInvalid

_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052
_OF_CLOUDS = (
    ipaddress.ip_network("168.63.129.16/32"),  # Azure's host, which only its virtual machines reach
    ipaddress.ip_network("192.0.0.0/24"),  # IETF protocols (RFC 6890); Oracle's metadata
)


def is_public(address: str) -> bool:
    """True for an address of the public internet.

    An IPv6 address that contains an IPv4 address (mapped, 6to4, Teredo, NAT64) is public if that one is.
    """
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(number, ipaddress.IPv6Address):
        inner = [number.ipv4_mapped, number.sixtofour, *(number.teredo or ())]
        if number in _NAT64:
            inner.append(ipaddress.IPv4Address(int(number) & 0xFFFFFFFF))
        within = [one for one in inner if one is not None]
        if within:
            return all(_is_global(one) for one in within)
    return _is_global(number)


def addresses_of(host: str, port: int, timeout_s: float) -> list[str]:
    """The addresses of a host by the system's resolver; raises MediaInvalid if there is none in time."""
    found: list[str] = []

    def resolve() -> None:
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return
        found.extend(dict.fromkeys(str(entry[4][0]) for entry in entries))

    thread = threading.Thread(target=resolve, name="cactus-resolver", daemon=True)  # getaddrinfo has no timeout
    thread.start()
    thread.join(timeout_s)
    if not found:
        is_late = thread.is_alive()
        raise MediaInvalid(
            "the picture could not be fetched in time" if is_late else "the host of the picture has no address"
        )
    return list(found)


def _is_global(number: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(number, ipaddress.IPv6Address) and number.is_site_local:  # deprecated, but routed by some networks
        return False
    is_special = number.is_multicast or number.is_reserved or any(number in network for network in _OF_CLOUDS)
    return number.is_global and not is_special

"""API keys: known by their digests only."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path

from cactus_actors.protocol.errors import AuthenticationFailed, ConfigurationInvalid

KEYS_VARIABLE = "CACTUS_API_KEYS"
MIN_KEY_LENGTH = 8
_SCHEME = b"bearer "

Tenant = bytes
"""The digest of the key that a request came with; empty where no key is needed."""

EVERYBODY: Tenant = b""


class ApiKeys:
    """Who may ask; without any key, everybody may."""

    def __init__(self, digests: Sequence[str]) -> None:
        """`digests` are those of `digest_of`."""
        self._digests = [bytes.fromhex(digest) for digest in digests]

    @property
    def is_needed(self) -> bool:
        """Whether a request without a key is refused."""
        return bool(self._digests)

    def tenant(self, authorization: bytes | None) -> Tenant:
        """Whose `Authorization` this is; raises AuthenticationFailed, after the same time for every key."""
        if not self._digests:
            return EVERYBODY
        if authorization is None or authorization[: len(_SCHEME)].lower() != _SCHEME:
            raise AuthenticationFailed("send an API key: `Authorization: Bearer KEY`")
        presented = hashlib.sha256(authorization[len(_SCHEME) :].strip()).digest()
        is_known = [hmac.compare_digest(presented, digest) for digest in self._digests]
        if not any(is_known):
            raise AuthenticationFailed("Invalid API Key")
        return presented


def digest_of(key: str) -> str:
    """What is kept of a key; keys are long and random, so that one round of SHA-256 tells nothing."""
    return hashlib.sha256(key.encode()).hexdigest()


def read_keys(path: Path | None, environment: Mapping[str, str]) -> list[str]:
    """The digests of the keys in a file, one a line, and in CACTUS_API_KEYS, separated by commas.

    Empty lines and lines that begin with `#` are passed over. Raises ConfigurationInvalid.
    """
    keys = environment.get(KEYS_VARIABLE, "").split(",")
    if path is not None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationInvalid(f"API keys in {path}: {error}", param="api_key_file") from None
        keys += [line for line in lines if not line.lstrip().startswith("#")]
    keys = [key.strip() for key in keys if key.strip()]
    if path is not None and not keys:
        raise ConfigurationInvalid(f"{path} holds no API key", param="api_key_file")
    if any(len(key) < MIN_KEY_LENGTH for key in keys):
        raise ConfigurationInvalid(
            f"an API key has at least {MIN_KEY_LENGTH} characters", param="api_key_file"
        )
    return [digest_of(key) for key in dict.fromkeys(keys)]


def host_and_port(listen: str) -> tuple[str, int]:
    """HOST and PORT of `HOST:PORT`, an IPv6 address in brackets; raises ConfigurationInvalid."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ConfigurationInvalid(f"http: {listen!r} is not HOST:PORT", param="http")
    return host.removeprefix("[").removesuffix("]"), int(port)


def check_exposure(listen: str, digests: Sequence[str]) -> None:
    """Raise ConfigurationInvalid for an endpoint that others can reach and that asks for no key."""
    host, _ = host_and_port(listen)
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    if not is_loopback and not digests:
        raise ConfigurationInvalid(
            f"http: {listen} can be reached from elsewhere, and there is no API key; "
            f"name some with --api-key-file or {KEYS_VARIABLE}",
            param="http",
        )

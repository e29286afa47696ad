"""API keys: known by their digests only."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from cactus_actors.protocol.errors import AuthenticationFailed, ConfigurationInvalid
from cactus_actors.protocol.key_grants import MAX_WEIGHT, KeyGrants

KEYS_VARIABLE = "CACTUS_API_KEYS"
MIN_KEY_LENGTH = 8
_SCHEME = b"bearer "
_TERM = re.compile(r"([a-z]+)=(\S*)")

Tenant = bytes
"""The digest of a request's key; empty without API keys."""

ANONYMOUS: Tenant = b""


class ApiKeys:
    """The accepted API keys; without any, every request is accepted."""

    def __init__(self, digests: Sequence[str]) -> None:
        """`digests` are those of `digest_of`."""
        self._digests = [bytes.fromhex(digest) for digest in digests]

    @property
    def is_needed(self) -> bool:
        """True if a request without a key is refused."""
        return bool(self._digests)

    def tenant(self, authorization: bytes | None) -> Tenant:
        """The tenant of an `Authorization` header; raises AuthenticationFailed. Takes the same time for every key."""
        if not self._digests:
            return ANONYMOUS
        if authorization is None or authorization[: len(_SCHEME)].lower() != _SCHEME:
            raise AuthenticationFailed("send an API key: `Authorization: Bearer KEY`")
        presented = hashlib.sha256(authorization[len(_SCHEME) :].strip()).digest()
        is_known = [hmac.compare_digest(presented, digest) for digest in self._digests]
        if not any(is_known):
            raise AuthenticationFailed("Invalid API Key")
        return presented


def authorization_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The one `Authorization` header, or that for an `x-api-key` of Anthropic's clients; None without either."""
    given: dict[bytes, list[bytes]] = {b"authorization": [], b"x-api-key": []}
    for name, value in headers:
        if name in given:
            given[name].append(value)
    found = given[b"authorization"] or [_SCHEME + key for key in given[b"x-api-key"]]
    return found[0] if len(found) == 1 else None


def digest_of(key: str) -> str:
    """The stored digest of an API key; keys are long and random, so one round of SHA-256 is enough."""
    return hashlib.sha256(key.encode()).hexdigest()


def account_of(tenant: Tenant) -> str:
    """A tenant's name on disk and for the router, which cannot be guessed without the key."""
    return hashlib.blake2b(b"name", key=tenant, digest_size=12).hexdigest()


def accounts_of(keys: Mapping[str, KeyGrants]) -> dict[str, KeyGrants]:
    """The grants of each account, from those of each key's digest."""
    return {account_of(bytes.fromhex(digest)): grants for digest, grants in keys.items()}


def read_keys(path: Path | None, environment: Mapping[str, str]) -> dict[str, KeyGrants]:
    """The grants, by digest, of the keys in a file, one per line, and in CACTUS_API_KEYS, separated by commas.

    A key may be followed by `weight=N`, `cloud=never` and `role=operator`. Empty lines and lines that begin with `#`
    are ignored. Raises ConfigurationInvalid, which quotes no key.
    """
    keys = [(KEYS_VARIABLE, key.strip()) for key in environment.get(KEYS_VARIABLE, "").split(",") if key.strip()]
    if path is not None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise _invalid(f"--api-key-file: {path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise _invalid(f"--api-key-file: {path} is not UTF-8 text") from None
        in_file = [line.strip() for line in lines if not line.lstrip().startswith("#")]
        keys += [(f"--api-key-file: {path}", line) for line in in_file if line]
        if not keys:
            raise _invalid(f"--api-key-file: {path} holds no API key")
    return _grants_by_digest(keys)


def host_and_port(listen: str, option: str = "http") -> tuple[str, int]:
    """HOST and PORT of `HOST:PORT`, an IPv6 address in brackets; raises ConfigurationInvalid, naming the option."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ConfigurationInvalid(f"--{option}: {listen!r} is not HOST:PORT, such as 127.0.0.1:8080", param=option)
    return host.removeprefix("[").removesuffix("]"), int(port)


def check_exposure(listen: str, digests: Collection[str], *, is_encrypted: bool, option: str = "http") -> None:
    """Raise ConfigurationInvalid for an endpoint that others can reach without a key, or eavesdrop on.

    `is_encrypted` says that the endpoint has TLS, by itself or by a proxy in front of it.
    """
    host, _ = host_and_port(listen, option)
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    if is_loopback:
        return
    if not digests:
        raise ConfigurationInvalid(
            f"{option}: {listen} can be reached from elsewhere, and there is no API key; "
            f"name some with --api-key-file or {KEYS_VARIABLE}",
            param=option,
        )
    if not is_encrypted:
        raise ConfigurationInvalid(
            f"{option}: {listen} can be reached from elsewhere, where keys and prompts would go in plain text; "
            "give --tls-cert and --tls-key, or --behind-proxy where a proxy in front has TLS",
            param=option,
        )


def _grants_by_digest(lines: Iterable[tuple[str, str]]) -> dict[str, KeyGrants]:
    """The grants, by digest, of lines, each with its option or variable."""
    keys: dict[str, KeyGrants] = {}
    for source, line in lines:
        try:
            key, grants = _key_and_grants(line)
            if len(key) < MIN_KEY_LENGTH:
                raise _invalid(f"an API key has at least {MIN_KEY_LENGTH} characters")
            if keys.setdefault(digest_of(key), grants) != grants:
                raise _invalid("an API key is given twice, with different options")
        except ConfigurationInvalid as error:
            raise _invalid(f"{source}: {error.message}") from None
    return keys


def _key_and_grants(line: str) -> tuple[str, KeyGrants]:
    """An API key, which may contain spaces, and the grants after it."""
    given: dict[str, str] = {}
    words = line.rsplit(None, 1)
    while len(words) == 2 and (found := _TERM.fullmatch(words[1])):
        line, name = words[0], found[1]
        if name not in ("weight", "cloud", "role") or name in given:
            raise _invalid("an API key may be followed by weight=N, cloud=never and role=operator, each once")
        given[name] = found[2]
        words = line.rsplit(None, 1)
    if given.get("cloud", "never") != "never":
        raise _invalid("the cloud after an API key is cloud=never, or is left out")
    if given.get("role", "operator") != "operator":
        raise _invalid("the role after an API key is role=operator, or is left out")
    weight = _weight(given.get("weight", "1"))
    return line, KeyGrants(weight=weight, allow_cloud="cloud" not in given, is_operator="role" in given)


def _weight(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= MAX_WEIGHT:
        raise _invalid(f"the weight after an API key is 1 to {MAX_WEIGHT}")
    return int(text)


def _invalid(reason: str) -> ConfigurationInvalid:
    return ConfigurationInvalid(reason, param="api_key_file")

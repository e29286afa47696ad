"""The CURVE keys of one service: its own pair, and the public keys that it accepts."""

from __future__ import annotations

import contextlib
import fcntl
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from cactus_actors.keys.key_file import Credentials, Role, read_key_file, write_key_file
from cactus_actors.keys.key_pair import KeyPair
from cactus_actors.keys.private_file import read_private, write_private
from cactus_actors.process.private_directories import make_private
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.key_grants import DEFAULT_GRANTS, MAX_WEIGHT, KeyGrants, Weight
from cactus_actors.protocol.tcp_keepalive import MAX_TOPICS

T = TypeVar("T")

SERVICE_TOPICS = 65_536
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")


class KnownKey(msgspec.Struct, frozen=True, kw_only=True):
    """A public key and the grants of its owner; `created` is Unix seconds.

    Jobs belong to the `tenant` of the key that submitted them. `max_topics` limits concurrent streams of the key's
    connections. No job of a tenant is handed off if any key of the tenant has `allow_cloud` false. Older files lack
    `weight` and `allow_cloud`.
    """

    name: str
    role: Role
    tenant: str
    public_key: str
    created: int
    max_topics: int = MAX_TOPICS
    weight: Weight = 1
    allow_cloud: bool = True


def keys_dir(state_dir: Path) -> Path:
    """The key directory of a service with that state directory."""
    return state_dir.expanduser() / "keys"


class _ServerFile(msgspec.Struct, frozen=True, kw_only=True):
    public_key: str
    secret_key: str


class _KnownFile(msgspec.Struct, frozen=True, kw_only=True):
    keys: list[KnownKey]


class KeyStore:
    """A directory of mode 0700 with secret keys in files of mode 0600; every method raises ConfigurationInvalid.

    The service rereads what `cactus keys` writes: adding and revoking keys needs no restart.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.known_path = self.directory / "known.json"
        self._server_path = self.directory / "server.key"

    def server_pair(self) -> KeyPair:
        """The service's own pair, which must exist."""
        return KeyPair(_decoded(self._server_path, _ServerFile).secret_key)

    def make_server_pair(self) -> KeyPair:
        """The service's own pair, created if needed."""
        with self._changing():
            if not self._server_path.exists():
                pair = KeyPair.generate()
                file = _ServerFile(public_key=pair.public, secret_key=pair.reveal())
                write_private(self._server_path, msgspec.json.encode(file))
        return self.server_pair()

    def known(self) -> list[KnownKey]:
        """Every key that the service accepts, oldest first."""
        return _decoded(self.known_path, _KnownFile).keys if self.known_path.exists() else []

    def add(
        self,
        name: str,
        role: Role,
        tenant: str | None = None,
        *,
        path: Path | None = None,
        max_topics: int = MAX_TOPICS,
        grants: KeyGrants = DEFAULT_GRANTS,
    ) -> Path:
        """Create a key, write its file to `path` or into the store, and return the file's path.

        Without `tenant`, the key is a tenant of its own.
        """
        _check_grants(role, grants)
        if not _NAME.fullmatch(name):
            raise ConfigurationInvalid("a key's name is 1 to 64 letters, digits and _ . @ -", param="name")
        tenant = name if tenant is None else tenant
        if not _NAME.fullmatch(tenant):
            raise ConfigurationInvalid("a tenant is 1 to 64 letters, digits and _ . @ -", param="tenant")
        path = path or self.path_of(name)
        server_key = self.make_server_pair().public
        with self._changing():
            known = self.known()
            if any(key.name == name for key in known):
                raise ConfigurationInvalid(
                    f"there is a key named {name}; revoke it first or choose another name", param="name"
                )
            if path.exists():
                raise ConfigurationInvalid(f"{path} exists; it is not overwritten")
            pair = KeyPair.generate()
            write_key_file(path, Credentials(pair, server_key, name), role, tenant)
            key = KnownKey(
                name=name,
                role=role,
                tenant=tenant,
                public_key=pair.public,
                created=int(time.time()),
                max_topics=max_topics,
                weight=grants.weight,
                allow_cloud=grants.allow_cloud,
            )
            self._write_known([*known, key])
        return path

    def revoke(self, name: str) -> KnownKey:
        """Remove a key, and delete its file if it is in the store."""
        with self._changing():
            known = self.known()
            revoked = next((key for key in known if key.name == name), None)
            if revoked is None:
                raise ConfigurationInvalid(f"no key is named {name}; `cactus keys list` shows them")
            self._write_known([key for key in known if key is not revoked])
            self.path_of(name).unlink(missing_ok=True)
        return revoked

    def own(self, name: str, role: Role) -> Path:
        """The key file for the service's own actors, created if missing or no longer accepted."""
        path = self.path_of(name)
        server_key = self.make_server_pair().public
        known = {key.public_key: key for key in self.known() if key.name == name}
        with contextlib.suppress(ConfigurationInvalid):
            credentials = read_key_file(path)
            key = known.get(credentials.pair.public)
            if key is not None and key.role == role and credentials.server_key == server_key:
                return path
        if known:
            self.revoke(name)
        path.unlink(missing_ok=True)
        return self.add(name, role, max_topics=SERVICE_TOPICS)

    def path_of(self, name: str) -> Path:
        """The path of a key's file in the store."""
        return self.directory / f"{name}.client.key"

    def _write_known(self, keys: list[KnownKey]) -> None:
        write_private(self.known_path, msgspec.json.format(msgspec.json.encode(_KnownFile(keys=keys))))

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Lock the store: one process changes it at a time."""
        try:
            make_private(self.directory)
            if self.directory.stat().st_mode & 0o077:
                raise ConfigurationInvalid(
                    f"{self.directory} is open to others; run chmod 700 on it", param="state_dir"
                )
            lock = (self.directory / "lock").open("w")
        except OSError as error:
            raise ConfigurationInvalid(f"{self.directory}: {error.strerror}", param="state_dir") from None
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _decoded(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(read_private(path), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ConfigurationInvalid(f"{path} is damaged; restore it from a copy") from None


def _check_grants(role: Role, grants: KeyGrants) -> None:
    if not 1 <= grants.weight <= MAX_WEIGHT:
        raise ConfigurationInvalid(f"a weight is 1 to {MAX_WEIGHT}, got {grants.weight}", param="weight")
    if role == "worker" and grants != DEFAULT_GRANTS:
        raise ConfigurationInvalid(
            "--weight and --no-cloud do not apply to worker keys, which submit no jobs", param="role"
        )

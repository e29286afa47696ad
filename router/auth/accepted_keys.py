"""The keys that the router accepts, by the current content of their file."""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Mapping, Sequence

from cactus_actors.keys.key_file import Role
from cactus_actors.keys.key_store import KeyStore, KnownKey
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.key_grants import KeyGrants
from cactus_actors.router.state.caller import Caller

RECHECK_S = 0.5

ROLES: Mapping[str, frozenset[Role]] = {
    "jobs": frozenset(("client", "operator")),
    "stream": frozenset(("client", "operator")),
    "workers": frozenset(("worker",)),
}
"""The roles that may connect to each of the router's sockets."""

_log = logging.getLogger(__name__)


class AcceptedKeys:
    """Looks up the owner of a public key; reads the file again after a change."""

    def __init__(self, store: KeyStore) -> None:
        """Raises ConfigurationInvalid for a store without the service's own keys, or a damaged one."""
        self.server_pair = store.server_pair()
        self._store = store
        self._stamp: tuple[int, int] | None = None
        self._callers: dict[str, Caller] = {}
        self._revoked: dict[str, Caller] = {}
        self._checked_at = float("-inf")
        self._complaint = ""
        self._read()

    def of(self, public_key: str, now: float) -> Caller | None:
        """The owner of this key; None if it is unknown or was revoked more than RECHECK_S ago."""
        self._recheck_if_due(now)
        return self._callers.get(public_key)

    def take_revoked(self, now: float) -> Sequence[tuple[str, Caller]]:
        """The keys that were removed or whose rights changed since the last call, with their former owners."""
        self._recheck_if_due(now)
        revoked, self._revoked = self._revoked, {}
        return list(revoked.items())

    def has_keys(self, tenant: str) -> bool:
        """True if any accepted key belongs to that tenant."""
        return any(caller.tenant == tenant for caller in self._callers.values())

    def refusal(self, public_key: str, domain: str, now: float) -> str | None:
        """The reason to refuse a connection with this key to the socket of that domain; None to accept it."""
        caller = self.of(public_key, now)
        if caller is None:
            self._recheck(now)  # it may be brand-new
            caller = self._callers.get(public_key)
        if caller is None:
            return "unknown_key"
        return None if caller.role in ROLES[domain] else "wrong_role"

    def salt(self, tenant: str, salt: str) -> str:
        """A salt that no other tenant can produce, whatever salt it sends."""
        content = f"{len(tenant)}:{tenant}{salt}".encode(errors="surrogatepass")
        return hmac.new(self.server_pair.reveal().encode(), content, hashlib.sha256).hexdigest()

    def _recheck_if_due(self, now: float) -> None:
        if now - self._checked_at >= RECHECK_S:
            self._recheck(now)

    def _recheck(self, now: float) -> None:
        self._checked_at = now
        complaint = ""
        try:
            if self._stamp_now() != self._stamp:
                self._read()
        except (ConfigurationInvalid, OSError) as error:
            complaint = str(error)
            if complaint != self._complaint:
                _log.error("the key files cannot be reloaded, the loaded keys stay in use: %s", complaint)
        self._complaint = complaint

    def _read(self) -> None:
        stamp = self._stamp_now()
        before = self._callers
        self._callers = _callers_of(self._store.known())
        self._revoked |= {
            public_key: caller for public_key, caller in before.items() if self._callers.get(public_key) != caller
        }
        self._stamp = stamp

    def _stamp_now(self) -> tuple[int, int] | None:
        """Inode and time of the file; it is replaced whole, so that new content has a new inode."""
        try:
            status = self._store.known_path.stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns


def _callers_of(keys: Sequence[KnownKey]) -> dict[str, Caller]:
    """The owner of each key; one key without the cloud excludes its whole tenant from it."""
    stays_here = {key.tenant for key in keys if not key.allow_cloud}
    return {
        key.public_key: Caller(
            key.name,
            key.role,
            key.tenant,
            key.max_topics,
            KeyGrants(weight=key.weight, allow_cloud=key.tenant not in stays_here),
        )
        for key in keys
    }

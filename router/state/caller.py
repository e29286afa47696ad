"""The sender of a message, as far as its connection proves it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cactus_actors.keys.key_file import Role
from cactus_actors.protocol.key_grants import DEFAULT_GRANTS, KeyGrants
from cactus_actors.protocol.tcp_keepalive import MAX_TOPICS


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of a key; jobs belong to the tenant of the caller that submitted them.

    Changed `grants` do not make another caller: they apply to later submissions, and no connection is closed.
    """

    name: str
    role: Role
    tenant: str
    max_topics: int
    grants: KeyGrants = field(default=DEFAULT_GRANTS, compare=False)


def requester_of(caller: Caller | None, identity: bytes) -> str:
    """The party whose share a request uses: its key's owner, or its connection where no keys are used."""
    return caller.name if caller is not None and caller.name else identity.hex()


ANONYMOUS = Caller(name="", role="operator", tenant="", max_topics=1 << 30)
"""The caller of a service without keys, which trusts all that can reach it."""


def anonymous_connection(descriptor: int, inode: int) -> Caller:
    """An anonymous caller of one connection, for limits of connections."""
    return Caller(name=f"connection {descriptor}/{inode}", role="operator", tenant="", max_topics=MAX_TOPICS)


REVOKED_CALLER = Caller(name="", role="client", tenant="", max_topics=0)
"""A caller whose key is not accepted any more."""


@dataclass(frozen=True, slots=True)
class RevokedKey:
    """A key that is no longer accepted, and the identities of its connections to the two ROUTER sockets.

    `is_last` says that its tenant has no other key.
    """

    caller: Caller
    is_last: bool
    clients: frozenset[bytes]
    workers: frozenset[bytes]

    def of(self, clients: frozenset[bytes]) -> RevokedKey:
        """The revoked key with other identities for the connections of clients."""
        return replace(self, clients=clients)

"""A CURVE key pair that hides its secret key."""

from __future__ import annotations

from typing import Self

import zmq
from zmq.utils import z85

from cactus_actors.protocol.errors import ConfigurationInvalid


class KeyPair:
    """Curve25519 keys in Z85, 40 characters each; only `reveal` returns the secret one."""

    __slots__ = ("_secret", "public")

    def __init__(self, secret: str) -> None:
        """Derive the pair of a secret key; raises ConfigurationInvalid if it is invalid."""
        try:
            self.public = zmq.curve_public(secret.encode()).decode()
        except (zmq.ZMQError, ValueError):  # the message must not quote the key
            raise ConfigurationInvalid("a CURVE key is 40 characters of Z85") from None
        self._secret = secret

    @classmethod
    def generate(cls) -> Self:
        _, secret = zmq.curve_keypair()
        return cls(secret.decode())

    def reveal(self) -> str:
        """The secret key, for a socket option or its owner's file only."""
        return self._secret

    def __repr__(self) -> str:
        return f"KeyPair({self.public!r}, ***)"

    def __reduce__(self) -> str:
        raise TypeError("a secret key does not leave its process")


def is_public_key(text: str) -> bool:
    """True if `text` can be a public key: 40 characters of Z85."""
    try:
        return len(z85.decode(text)) == 32
    except (ValueError, KeyError, UnicodeEncodeError):
        return False

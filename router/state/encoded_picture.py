"""Pictures of requests as their files have them, identified by their content."""

from __future__ import annotations

import hashlib

import msgspec


class EncodedPicture(msgspec.Struct, frozen=True, array_like=True):
    """A picture's file and its SHA-256."""

    digest: bytes
    content: bytes

    @classmethod
    def of(cls, content: bytes) -> EncodedPicture:
        """The picture of that content."""
        return cls(hashlib.sha256(content).digest(), content)

    @property
    def reference(self) -> PictureReference:
        return PictureReference(self.digest, len(self.content))


class PictureReference(msgspec.Struct, frozen=True, array_like=True):
    """A picture without its content, and the bytes that its content has."""

    digest: bytes
    num_bytes: int


class SelfContainedRequest(msgspec.Struct, frozen=True, array_like=True):
    """A request in MessagePack that names no picture outside of it.

    Its pictures are the frames that the request came with, followed by `pictures`, which were read from other places.
    """

    content: bytes
    pictures: list[EncodedPicture]

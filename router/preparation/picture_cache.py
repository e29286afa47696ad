"""Pictures that a preparation process has prepared before: a chat names its pictures in each of its requests."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from cactus_actors.vision.picture_processor import ProcessedPicture

MAX_BYTES = 32 << 20


class CachedPicture(NamedTuple):
    """A picture for the encoder, and its size in pixels before it was resized."""

    width: int
    height: int
    processed: ProcessedPicture


class PictureCache:
    """At most `max_bytes` of pixels, found by tenant and by the digest of the file; the least recently used go first.

    Tenants share no entries: the time of a request does not show which pictures others have sent.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.num_bytes = 0
        self._max_bytes = max_bytes
        self._pictures: OrderedDict[tuple[str, bytes], CachedPicture] = OrderedDict()

    def get(self, tenant: str, digest: bytes) -> CachedPicture | None:
        """A picture, which counts as used now; None if it is not here."""
        found = self._pictures.get((tenant, digest))
        if found is not None:
            self._pictures.move_to_end((tenant, digest))
        return found

    def put(self, tenant: str, digest: bytes, picture: CachedPicture) -> None:
        """Keep a picture that is not here, unless it alone is larger than the cache."""
        num_bytes = picture.processed.picture.num_bytes
        if num_bytes > self._max_bytes or (tenant, digest) in self._pictures:
            return
        self._pictures[tenant, digest] = picture
        self.num_bytes += num_bytes
        while self.num_bytes > self._max_bytes:
            _, evicted = self._pictures.popitem(last=False)
            self.num_bytes -= evicted.processed.picture.num_bytes

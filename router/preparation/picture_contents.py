"""The encoded pictures of one request: those that came with it, and those that are read for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from cactus_actors.protocol.errors import InvalidMessage, MediaTooLarge
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.pictures import MAX_PICTURE_BYTES, MAX_REQUEST_PICTURE_BYTES, GivenPicture, PictureFrame
from cactus_actors.router.preparation.picture_cache import CachedPicture, PictureCache
from cactus_actors.router.preparation.picture_content import sources_of, with_sources_replaced
from cactus_actors.router.state.encoded_picture import EncodedPicture, SelfContainedRequest
from cactus_actors.vision.picture_reader import PictureReader

DATA_URLS_ONLY = PictureReader()


class PictureContents:
    """Gives the content of each picture that a request names.

    `frames` are the pictures beside the request. With `keeps` the contents that are read are kept for
    `self_contained`. `cache` has pictures that were prepared before for the same tenant.
    """

    def __init__(
        self,
        reader: PictureReader = DATA_URLS_ONLY,
        frames: Sequence[bytes] = (),
        *,
        keeps: bool = False,
        cache: PictureCache | None = None,
        tenant: str = "",
    ) -> None:
        self._cache = cache or PictureCache(max_bytes=0)
        self._tenant = tenant
        self._reader = reader
        self._frames = frames
        self._keeps = keeps
        self._read: dict[bytes, EncodedPicture] = {}
        """The pictures that were read, by their digests, in the order of their frames."""
        self._places: list[PictureFrame] = []
        """The frame of each picture of the request so far."""
        self._bytes_left = MAX_REQUEST_PICTURE_BYTES - sum(map(len, frames))

    def check_frames(self, submit: Submit) -> None:
        """Raise InvalidMessage unless the request names all of its frames and no others."""
        named: set[int] = set()
        for index, (source, param) in enumerate(sources_of(submit)):
            if isinstance(source, PictureFrame):
                if not 0 <= source.frame < len(self._frames):
                    raise InvalidMessage(
                        f"picture {index}: there is no frame {source.frame}, {len(self._frames)} came with the request",
                        param=param,
                    )
                named.add(source.frame)
        for frame in range(len(self._frames)):
            if frame not in named:
                raise InvalidMessage(f"frame {frame} is no picture of the request", param="images")

    def picture_of(self, source: GivenPicture, limit_s: float) -> EncodedPicture:
        """The request's next picture; fetching it may take `limit_s` seconds.

        Raises MediaNotAllowed, MediaTooLarge or MediaInvalid.
        """
        if isinstance(source, PictureFrame):
            content = self._frames[source.frame]
            if len(content) > MAX_PICTURE_BYTES:
                raise MediaTooLarge(f"{len(content)} bytes, {MAX_PICTURE_BYTES} are allowed")
            self._places.append(source)
            return EncodedPicture.of(content)
        picture = EncodedPicture.of(self._reader.read(source, limit_s))
        if picture.digest not in self._read:
            self._bytes_left -= len(picture.content)
            if self._bytes_left < 0:
                raise MediaTooLarge(f"the pictures so far take more than {MAX_REQUEST_PICTURE_BYTES} bytes")
            self._read[picture.digest] = picture if self._keeps else EncodedPicture(picture.digest, b"")
        self._places.append(PictureFrame(len(self._frames) + list(self._read).index(picture.digest)))
        return picture

    def prepared(self, picture: EncodedPicture, prepare: Callable[[bytes], CachedPicture]) -> CachedPicture:
        """The picture as `prepare` makes it from its content, now or for an earlier request."""
        found = self._cache.get(self._tenant, picture.digest)
        if found is None:
            found = prepare(picture.content)
            self._cache.put(self._tenant, picture.digest, found)
        return found

    def self_contained(self, submit: Submit) -> SelfContainedRequest | None:
        """The request with frames in place of the pictures that were read; None if there are none, or not kept."""
        if not self._keeps or not self._read:
            return None
        content = msgspec.msgpack.encode(with_sources_replaced(submit, self._places))
        return SelfContainedRequest(content, list(self._read.values()))

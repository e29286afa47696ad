"""The room that a request takes before it runs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cactus_actors.router.state.encoded_picture import EncodedPicture
from cactus_actors.router.state.queue_load import QueueLoad


class Reservation(msgspec.Struct, frozen=True, gc=False):
    """A request's `load` in memory and its expected `work`, in generated tokens.

    `user` gets a share of the service by `weight`; background work counts for nobody's share.
    """

    user: str
    weight: int
    load: QueueLoad
    work: float
    is_background: bool = False

    def with_pictures(self, pictures: Sequence[EncodedPicture]) -> Reservation:
        """The reservation together with the files of pictures, while these are held."""
        if not pictures:
            return self
        return msgspec.structs.replace(self, load=self.load.with_pictures(pictures))

"""The interface of preparers, and one that works in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cactus_actors.protocol.results import Source
from cactus_actors.protocol.wire import decode_submit
from cactus_actors.router.preparation.picture_cache import PictureCache
from cactus_actors.router.preparation.prompt_model import PromptModel
from cactus_actors.router.state.prepared_request import PreparedRequest


class Preparer(Protocol):
    """Prepares one request after the other; used by one thread, except for `close`."""

    def prepare(
        self,
        content: bytes,
        sources: list[Source] | None = None,
        frames: Sequence[bytes] = (),
        tenant: str = "",
        model: str = "",
    ) -> PreparedRequest:
        """The result of `prepare_with_documents` for the model of that name; raises its errors."""

    def make_ready(self) -> None:
        """Wait until a request would be prepared immediately; `prepare` raises the errors."""

    def rest(self) -> None:
        """Release resources that only the next request needs."""

    def close(self) -> None:
        """End, with the request in progress."""


class LocalPreparer:
    """Prepares in this process, for a model that only this process knows."""

    def __init__(self, model: PromptModel, *, keeps_pictures: bool = False) -> None:
        self._model = model
        self._keeps_pictures = keeps_pictures
        self._cache = PictureCache()

    def prepare(
        self,
        content: bytes,
        sources: list[Source] | None = None,
        frames: Sequence[bytes] = (),
        tenant: str = "",
        model: str = "",  # noqa: ARG002  it has one model
    ) -> PreparedRequest:
        # a router with preparation processes loads neither grammars nor NumPy
        from cactus_actors.router.preparation.documented_requests import prepare_with_documents
        from cactus_actors.router.preparation.picture_contents import PictureContents

        contents = PictureContents(frames=frames, keeps=self._keeps_pictures, cache=self._cache, tenant=tenant)
        return prepare_with_documents(decode_submit(content), sources, self._model, contents=contents)

    def make_ready(self) -> None:
        pass

    def rest(self) -> None:
        pass

    def close(self) -> None:
        pass

"""The interface of preparers, and one that works in this process."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

import msgspec

from cactus_actors.protocol.errors import CactusError, ServerFailure
from cactus_actors.protocol.results import Source
from cactus_actors.protocol.wire import decode_submit
from cactus_actors.router.effects import PrepareRequest
from cactus_actors.router.preparation.picture_cache import PictureCache
from cactus_actors.router.preparation.preparer_frames import EncodedRequest
from cactus_actors.router.preparation.prompt_model import PromptModel
from cactus_actors.router.state.prepared_request import PreparedRequest

Outcome = PreparedRequest | CactusError

_log = logging.getLogger(__name__)


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

    def prepare_together(self, requests: Sequence[EncodedRequest]) -> list[Outcome]:
        """The results or the errors of `prepare` for requests without pictures.

        Raises an exception if that is not possible, perhaps because of one of them.
        """

    def make_ready(self) -> None:
        """Wait until a request would be prepared immediately; `prepare` raises the errors."""

    def rest(self) -> None:
        """Release resources that only the next request needs."""

    def close(self) -> None:
        """End, with the request in progress."""


def encoded_request(request: PrepareRequest) -> EncodedRequest:
    """A request without its pictures."""
    content, num_frames = msgspec.Raw(request.content), len(request.frames or request.kept)
    return EncodedRequest(content, request.sources, num_frames, request.tenant, request.model)


def outcome_of(preparer: Preparer, request: EncodedRequest, frames: Sequence[bytes] = ()) -> Outcome:
    """The result of one request, or its error."""
    try:
        return preparer.prepare(bytes(request.submit), request.sources, frames, request.tenant, request.model)
    except CactusError as error:
        return error
    except Exception as error:  # an error of the tokenizer must fail this request, not the router
        _log.exception("a request could not be prepared")
        return ServerFailure(f"the request could not be prepared: {type(error).__name__}")


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

    def prepare_together(self, requests: Sequence[EncodedRequest]) -> list[Outcome]:
        """The results or the errors of `prepare` for requests without pictures."""
        return [outcome_of(self, request) for request in requests]

    def make_ready(self) -> None:
        pass

    def rest(self) -> None:
        pass

    def close(self) -> None:
        pass

"""What prepares requests, whatever process that happens in."""

from __future__ import annotations

from typing import Protocol

from cactus_actors.protocol.results import Source
from cactus_actors.protocol.wire import decode_submit
from cactus_actors.router.preparation.prompt_model import PromptModel
from cactus_actors.router.state.prepared_request import PreparedRequest


class Preparer(Protocol):
    """Prepares one request after the other; for one thread, but for `close`."""

    def prepare(self, content: bytes, sources: list[Source] | None = None) -> PreparedRequest:
        """What `prepare_with_documents` makes of it, or raises."""

    def make_ready(self) -> None:
        """Wait until a request would be prepared at once; what goes wrong is for `prepare` to raise."""

    def rest(self) -> None:
        """Let go of what only a next request needs."""

    def close(self) -> None:
        """End, with what is being prepared."""


class LocalPreparer:
    """Prepares in this process, for a model that only this process knows."""

    def __init__(self, model: PromptModel) -> None:
        self._model = model

    def prepare(self, content: bytes, sources: list[Source] | None = None) -> PreparedRequest:
        # a router whose requests are prepared elsewhere does without grammars and NumPy
        from cactus_actors.router.preparation.documents import prepare_with_documents

        return prepare_with_documents(decode_submit(content), sources, self._model)

    def make_ready(self) -> None:
        pass

    def rest(self) -> None:
        pass

    def close(self) -> None:
        pass

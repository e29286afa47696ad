"""One thread that prepares one request after the other."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from cactus_actors.protocol.errors import CactusError, ServerFailure
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Source
from cactus_actors.protocol.wire import decode_submit
from router.prepare.prepared import Prepared

Outcome = Prepared | CactusError
PrepareWith = Callable[[Submit, "list[Source] | None"], Prepared]
"""Prepares a request with the documents that are known to belong to it, or with those that it finds."""

_log = logging.getLogger(__name__)


class PreparingThread:
    """Calls `prepare` for each request in its order, then `on_prepared` with the ticket and the outcome."""

    def __init__(self, prepare: PrepareWith, on_prepared: Callable[[int, Outcome], None]) -> None:
        self._prepare = prepare
        self._on_prepared = on_prepared
        self._waiting: queue.SimpleQueue[tuple[int, bytes, list[Source] | None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="preparing")
        self._thread.start()

    def add(self, ticket: int, content: bytes, sources: list[Source] | None = None) -> None:
        """Have a request prepared; it is decoded when its turn comes."""
        self._waiting.put((ticket, content, sources))

    def close(self) -> None:
        """Prepare what is left and end."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (request := self._waiting.get()) is not None:
            ticket, content, sources = request
            self._on_prepared(ticket, self._outcome(content, sources))

    def _outcome(self, content: bytes, sources: list[Source] | None) -> Outcome:
        try:
            return self._prepare(decode_submit(content), sources)
        except CactusError as error:
            return error
        except Exception as error:  # a tokenizer's own failure must cost this request, not the router
            _log.exception("a request could not be prepared")
            return ServerFailure(f"the request could not be prepared: {type(error).__name__}")

"""One thread that prepares one request after the other."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from cactus_actors.protocol.errors import CactusError, ServerFailure
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Source
from cactus_actors.protocol.wire import decode_submit
from router.effects import Prepare
from router.prepare.prepared import Prepared
from router.preparing.turns import Turns

Outcome = Prepared | CactusError
PrepareWith = Callable[[Submit, "list[Source] | None"], Prepared]
"""Prepares a request with the documents that are known to belong to it, or with those that it finds."""

_log = logging.getLogger(__name__)


class PreparingThread:
    """Calls `prepare` for one request after the other, then `on_prepared` with the ticket and the outcome."""

    def __init__(self, prepare: PrepareWith, on_prepared: Callable[[int, Outcome], None]) -> None:
        self._prepare = prepare
        self._on_prepared = on_prepared
        self._waiting: Turns[Prepare] = Turns()
        self._thread = threading.Thread(target=self._run, name="preparing")
        self._thread.start()

    def add(self, wish: Prepare) -> None:
        """Have a request prepared; it is decoded when its turn comes."""
        self._waiting.put(wish, wish.user, is_background=wish.is_background)

    def close(self) -> None:
        """Prepare what is left and end."""
        self._waiting.close()
        self._thread.join()

    def _run(self) -> None:
        while (wish := self._waiting.get()) is not None:
            self._on_prepared(wish.ticket, self._outcome(wish.content, wish.sources))

    def _outcome(self, content: bytes, sources: list[Source] | None) -> Outcome:
        try:
            return self._prepare(decode_submit(content), sources)
        except CactusError as error:
            return error
        except Exception as error:  # a tokenizer's own failure must cost this request, not the router
            _log.exception("a request could not be prepared")
            return ServerFailure(f"the request could not be prepared: {type(error).__name__}")

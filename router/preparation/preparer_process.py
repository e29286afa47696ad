"""The router's side of the process that prepares requests."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from cactus_actors.config_models import NO_CASCADE, CascadeSettings
from cactus_actors.protocol.errors import CactusError, RequestTooComplex, Unavailable, error_from_info
from cactus_actors.protocol.picture_access import DATA_URLS_ALONE, PictureAccess
from cactus_actors.protocol.results import Source
from cactus_actors.router.preparation.preparer import Outcome
from cactus_actors.router.preparation.preparer_frames import (
    EncodedRequest,
    PreparerModel,
    PreparerReady,
    PreparerReply,
    PreparerSettings,
    receive,
    send,
)
from cactus_actors.router.process.child_process import start_child
from cactus_actors.router.state.prepared_request import PreparedRequest

LIMIT_S = 5.0
"""The seconds until a request must be answered, however busy the machine is."""
CPU_S = 2.0
"""The processor time of a request, plus a second for each megabyte: enough to tokenize the longest request."""
BYTES_A_SECOND = 1_000_000
POLL_S = 0.02
_ENVIRONMENT = {"MALLOC_ARENA_MAX": "1"}  # an arena of each thread would take of the limited address space
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
START_LIMIT_S = 60.0
MAX_STARTS = 5
"""Consecutive children that may end before they are ready, until a request is refused as unavailable."""

_log = logging.getLogger(__name__)
_decode_first = msgspec.msgpack.Decoder(PreparerReady).decode
_decode_answers = msgspec.msgpack.Decoder(list[PreparerReply]).decode


class PreparerProcess:
    """Prepares requests in a child process of bounded memory and time, which starts when it is needed.

    A request that takes too long, or that crashes the child twice, is refused, and the next one gets a new
    child. A child that ends before it is ready is restarted: no request caused that.
    Only the child compiles templates, schemas and expressions of clients.
    """

    def __init__(
        self,
        *models: PreparerModel,
        cascade: CascadeSettings = NO_CASCADE,
        corpus: Path | None = None,
        limit_s: float = LIMIT_S,
        cpu_s: float = CPU_S,
        pictures: PictureAccess = DATA_URLS_ALONE,
        keeps_pictures: bool = False,
    ) -> None:
        corpus_path = None if corpus is None else str(corpus)
        settings = PreparerSettings(list(models), cascade, corpus_path, pictures, keeps_pictures)
        self._argument = msgspec.json.encode(settings).decode()
        self._limit_s = limit_s
        self._cpu_s = cpu_s
        self._child: _Child | None = None
        self._changing = threading.RLock()
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """The child's, while there is one."""
        child = self._child
        return None if child is None else child.process.pid

    def prepare(
        self,
        content: bytes,
        sources: list[Source] | None = None,
        frames: Sequence[bytes] = (),
        tenant: str = "",
        model: str = "",
    ) -> PreparedRequest:
        """The result or the error of `prepare_with_documents`; raises RequestTooComplex beyond the limits."""
        request = EncodedRequest(msgspec.Raw(content), sources, len(frames), tenant, model)
        try:
            try:
                (answer,) = self._ask([request], frames)
            except EOFError:  # another process may have ended the child
                self._give_up_child("ended")
                (answer,) = self._ask([request], frames)
        except EOFError:
            self._give_up_child("ended again")
            raise RequestTooComplex("the request needs more memory than preparing one may take") from None
        except TimeoutError:
            self._give_up_child("took too long")
            raise RequestTooComplex("preparing the request took longer than it may") from None
        if isinstance(answer, CactusError):
            raise answer
        return answer

    def prepare_together(self, requests: Sequence[EncodedRequest]) -> list[Outcome]:
        """The results or the errors of `prepare` for requests without pictures.

        Together they have the limits of one request; raises EOFError or TimeoutError beyond these.
        """
        try:
            return self._ask(requests)
        except EOFError:
            self._give_up_child("ended")
            raise
        except TimeoutError:
            self._give_up_child("took too long")
            raise

    def make_ready(self) -> None:
        """Wait for a child with a loaded model; the next request reports errors."""
        with contextlib.suppress(EOFError, OSError, Unavailable):
            self._running_child().wait_until_ready()

    def rest(self) -> None:
        """End the child; the next request starts another."""
        with self._changing:
            self._end_child()

    def close(self) -> None:
        """End the child for good, with the request in progress; may be called from another thread."""
        with self._changing:
            self._is_closed = True
            self._end_child()

    def _ask(self, requests: Sequence[EncodedRequest], frames: Sequence[bytes] = ()) -> list[Outcome]:
        answers = self._ready_child().ask(requests, frames, self._limit_s, self._cpu_s)
        assert len(answers) == len(requests)
        return [_outcome_in(answer) for answer in answers]

    def _ready_child(self) -> _Child:
        """A child with a loaded model; raises Unavailable if none starts."""
        for _ in range(MAX_STARTS):
            child = self._running_child()
            try:
                child.wait_until_ready()
                return child
            except EOFError:
                self._give_up_child("ended while it started")
            except TimeoutError:
                self._give_up_child("did not start in time")
                break
        raise Unavailable("the preparation process does not start", retry_after=1.0)

    def _running_child(self) -> _Child:
        with self._changing:
            if self._is_closed:
                raise Unavailable("the service is stopping", retry_after=5.0)
            if self._child is not None and self._child.process.poll() is not None:
                self._give_up_child("ended")
            if self._child is None:
                self._child = _Child(self._argument)
            return self._child

    def _give_up_child(self, what: str) -> None:
        with self._changing:
            if not self._is_closed:
                _log.warning("the preparation process %s; another one starts", what)
            self._end_child()

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None


def _outcome_in(answer: PreparerReply) -> Outcome:
    if answer.error is not None:
        return error_from_info(answer.error)
    assert answer.prepared is not None
    return answer.prepared


class _Child:
    """One process, from its start to its end."""

    def __init__(self, argument: str) -> None:
        self.process, self._connection = start_child(
            "cactus_actors.router.preparation.preparer_child", argument, environment=_ENVIRONMENT
        )
        self._stat = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/stat")
        self._is_ready = False

    def wait_until_ready(self) -> None:
        """Raises EOFError if the child has ended, TimeoutError if it is not ready in time."""
        if not self._is_ready:
            _decode_first(self._receive(START_LIMIT_S))
            self._is_ready = True

    def ask(
        self, requests: Sequence[EncodedRequest], frames: Sequence[bytes], limit_s: float, cpu_s: float
    ) -> list[PreparerReply]:
        """The answers to requests, whose pictures are `frames`.

        Raises EOFError if the child has ended, TimeoutError beyond a limit.
        """
        until = time.monotonic() + limit_s
        with self._limited(limit_s):
            num_bytes = send(self._connection, requests, frames)
            self._wait_for_answer(until, cpu_s + num_bytes / BYTES_A_SECOND)
        return _decode_answers(self._receive(limit_s))

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits for an answer
        self._connection.close()

    def _wait_for_answer(self, until: float, cpu_s: float) -> None:
        """Raises TimeoutError at that time, or when the child has computed for so long."""
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        if poll.poll(1000 * POLL_S):  # the usual case
            return
        cpu_until = self._cpu_s() + cpu_s - POLL_S
        while (left := min(until - time.monotonic(), cpu_until - self._cpu_s())) > 0:
            if poll.poll(1000 * max(left, POLL_S)):
                return
        raise TimeoutError

    def _cpu_s(self) -> float:
        """The processor time of the preparing thread; 0 if the system does not say."""
        try:
            fields = self._stat.read_bytes().rpartition(b")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS

    def _receive(self, limit_s: float) -> bytes:
        with self._limited(limit_s):
            return receive(self._connection)

    @contextlib.contextmanager
    def _limited(self, limit_s: float) -> Iterator[None]:
        """Limit the use of the connection to `limit_s` seconds; a broken or closed one raises EOFError."""
        try:
            self._connection.settimeout(limit_s)
            yield
        except TimeoutError:
            raise
        except (OSError, ValueError):  # a poll raises ValueError
            raise EOFError from None

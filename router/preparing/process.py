"""The router's side of the process that prepares requests."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import msgspec

from cactus_actors.protocol.errors import RequestTooComplex, Unavailable, error_from_info
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Source
from router.prepare.prepared import Prepared
from router.preparing.frames import Answer, Ready, Request, receive, send

LIMIT_S = 5.0
START_LIMIT_S = 60.0

_log = logging.getLogger(__name__)
_decode_first = msgspec.msgpack.Decoder(Ready).decode
_decode_answer = msgspec.msgpack.Decoder(Answer).decode


class PreparingProcess:
    """Prepares requests in a child process of bounded memory and time; for one thread.

    A request that takes too long, or that the child dies of twice, is refused, and the next one finds a new
    child. Templates, schemas and expressions of strangers are compiled there and nowhere else.
    """

    def __init__(self, model: Path, corpus: Path | None = None, limit_s: float = LIMIT_S) -> None:
        self._arguments = [str(model), *([] if corpus is None else [str(corpus)])]
        self._limit_s = limit_s
        self._child = _Child(self._arguments)
        self._closing = threading.Lock()
        self._is_closed = False

    @property
    def pid(self) -> int:
        return self._child.process.pid

    def prepare(self, submit: Submit, sources: list[Source] | None = None) -> Prepared:
        """What `prepare_with_documents` makes of it, or raises; RequestTooComplex if it needs too much."""
        request = Request(submit, sources)
        try:
            try:
                return self._ask(request)
            except EOFError:  # somebody else may have ended it
                self._renew("ended")
                return self._ask(request)
        except EOFError:
            self._renew("ended again")
            raise RequestTooComplex("the request needs more memory than preparing one may take") from None
        except TimeoutError:
            self._renew("took too long")
            raise RequestTooComplex(f"preparing the request took longer than {self._limit_s:g} s") from None

    def close(self) -> None:
        """End the child; may be called from another thread, and ends what is being prepared."""
        with self._closing:
            self._is_closed = True
            self._child.end()

    def _ask(self, request: Request) -> Prepared:
        answer = self._child.ask(request, self._limit_s)
        if answer.error is not None:
            raise error_from_info(answer.error)
        assert answer.prepared is not None
        return answer.prepared

    def _renew(self, what: str) -> None:
        with self._closing:
            if self._is_closed:
                raise Unavailable("the service is stopping", retry_after=5.0)
            _log.warning("the process that prepares requests %s; a new one starts", what)
            self._child.end()
            self._child = _Child(self._arguments)


class _Child:
    """One process, from its start to its end."""

    def __init__(self, arguments: list[str]) -> None:
        self._connection, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "router.preparing.child", str(theirs.fileno()), *arguments]
            self.process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._is_ready = False

    def ask(self, request: Request, limit_s: float) -> Answer:
        """Raises EOFError if it has ended, TimeoutError if it takes longer than `limit_s` seconds."""
        if not self._is_ready:
            _decode_first(self._receive(START_LIMIT_S))
            self._is_ready = True
        try:
            self._connection.settimeout(limit_s)
            send(self._connection, request)
        except (BrokenPipeError, ConnectionResetError):
            raise EOFError from None
        return _decode_answer(self._receive(limit_s))

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)  # wakes whoever waits for an answer
        self._connection.close()

    def _receive(self, limit_s: float) -> bytes:
        self._connection.settimeout(limit_s)
        try:
            return receive(self._connection)
        except TimeoutError:
            raise
        except OSError:
            raise EOFError from None

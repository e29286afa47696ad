"""An actor's process, seen from the placement that started it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

import msgspec

from cactus_actors.placement.interface import ActorExit, ActorKind, ActorLost
from cactus_actors.placement.local.call_frames import Call, CallReply, FrameDecoder, frame_of
from cactus_actors.process.cpu_cores import Core
from cactus_actors.protocol.errors import CactusError, Unavailable, error_from_info

MAX_READ = 65_536
SEND_TIMEOUT_S = 10.0
END_TIMEOUT_S = 5.0

_decode_reply = msgspec.msgpack.Decoder(CallReply).decode


class LocalFuture:
    """The pending result of a call; `what` names it in messages."""

    def __init__(self, what: str) -> None:
        self.future: Future[Any] = Future()
        self._what = what

    def done(self) -> bool:
        return self.future.done()

    def result(self, timeout_s: float) -> Any:
        try:
            return self.future.result(timeout_s)
        except FutureTimeoutError:
            raise Unavailable(f"{self._what} took longer than {timeout_s:.0f} s") from None


class LocalActor:
    """A process and its socket. The placement's thread reads the socket and reaps the process.

    `cores` are the process's own, if it has some.
    """

    def __init__(
        self,
        kind: ActorKind,
        name: str,
        process: subprocess.Popen[bytes],
        connection: socket.socket,
        cores: Sequence[Core] = (),
    ) -> None:
        connection.settimeout(SEND_TIMEOUT_S)
        self.cores = cores
        self.name = name
        self.process = process
        self.connection = connection
        self._kind = kind
        self._frames = FrameDecoder()
        self._state_lock = threading.Lock()
        self._send_lock = threading.Lock()
        self._num_calls = 0
        self._waiting: dict[int, tuple[LocalFuture, str]] = {}
        self._exit: ActorExit | None = None
        self._gone = threading.Event()

    @property
    def is_placed(self) -> bool:
        return True

    @property
    def pid(self) -> int:
        return self.process.pid

    def run(self, *arguments: object) -> None:
        self.ask("run", *arguments)

    def ask(self, method: str, *arguments: object) -> LocalFuture:
        answer = LocalFuture(f"{self.name}: {method}")
        with self._state_lock:
            self._num_calls += 1
            number = self._num_calls
            if self._exit is not None:
                answer.future.set_exception(self._lost())
                return answer
            self._waiting[number] = answer, method
        self.send(frame_of(Call(number, method, list(arguments))))
        return answer

    def notify(self, method: str, *arguments: object) -> None:
        self.ask(method, *arguments)

    def exit_info(self) -> ActorExit | None:
        return self._exit

    def terminate(self) -> None:
        self.kill()
        self._gone.wait(END_TIMEOUT_S)

    def kill(self) -> None:
        """Kill its process group: the process and all that it started."""
        with self._state_lock, contextlib.suppress(ProcessLookupError):
            if not self._gone.is_set():  # afterwards the process id may be reused
                os.killpg(self.process.pid, signal.SIGKILL)

    def send(self, frame: bytes) -> None:
        """Send a frame; kill an actor that does not read for SEND_TIMEOUT_S."""
        try:
            with self._send_lock:
                self.connection.sendall(frame)
        except TimeoutError:
            self.kill()
        except OSError:  # it has ended, which the watcher thread notices
            pass

    def read(self) -> bool:
        """Handle received replies; returns False at the end of the stream."""
        try:
            received = self.connection.recv(MAX_READ)
        except OSError:
            return False
        for body in self._frames.messages(received):
            self._on_reply(_decode_reply(body))
        return bool(received)

    def reap(self) -> None:
        """Kill the process if needed, wait for it, and fail its pending calls."""
        self.kill()
        exit_code = self.process.wait()
        while self.read():  # its last replies
            pass
        self.connection.close()
        with self._state_lock:
            self._gone.set()
            if self._exit is None:
                lost = ActorLost(_exit_reason(exit_code))
                self._exit = ActorExit(lost.message, lost)
            waiting, self._waiting = self._waiting, {}
        for answer, _ in waiting.values():
            answer.future.set_exception(self._lost())

    def _on_reply(self, reply: CallReply) -> None:
        with self._state_lock:
            answer, method = self._waiting.pop(reply.number)
            value, error = self._outcome(method, reply)
            if method == "run":
                self._exit = ActorExit(value, None) if error is None else ActorExit(error.message, error)
        if error is None:
            answer.future.set_result(value)
        else:
            answer.future.set_exception(error)

    def _outcome(self, method: str, reply: CallReply) -> tuple[Any, CactusError | None]:
        if reply.error is not None:
            return None, error_from_info(reply.error)
        return msgspec.msgpack.decode(reply.value, type=self._kind.answer_type(method)), None

    def _lost(self) -> ActorLost:
        assert self._exit is not None
        return ActorLost(f"{self.name} ended: {self._exit.reason}")


def _exit_reason(exit_code: int) -> str:
    if exit_code >= 0:
        return f"its process ended with status {exit_code}"
    try:
        return f"its process was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"its process was killed by signal {-exit_code}"

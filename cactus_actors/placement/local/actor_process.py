"""The process of one actor: `python -m cactus_actors.placement.local.actor_process KIND NAME FD PARENT`.

FD is a socket to the placement in the process PARENT; the actor ends with it. KIND and NAME only identify the
process in listings.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import queue
import signal
import socket
import sys
import threading
import traceback
from typing import Any

import msgspec

from cactus_actors.placement.local.call_frames import ActorSpec, Call, CallReply, FrameDecoder, frame_of
from cactus_actors.process.parent_death import end_with_parent
from cactus_actors.protocol.errors import CactusError, ServerFailure

CONTROL_THREADS = 2
"""Two, so that an actor can be stopped while another call is pending."""
MAX_READ = 65_536

_decode_spec = msgspec.msgpack.Decoder(ActorSpec).decode
_decode_call = msgspec.msgpack.Decoder(Call).decode


class ActorProcess:
    """Receives calls from a socket and runs `start` and `run` in the main thread, all others in control threads.

    The process ends when the socket does.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._frames = FrameDecoder()
        self._main: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self._control: queue.SimpleQueue[Call] = queue.SimpleQueue()

    def serve(self) -> None:
        """Construct the actor and execute calls until its `run` ends."""
        spec, calls = self._receive_spec()
        if spec.cpus:
            os.sched_setaffinity(0, spec.cpus)  # threads and child processes inherit it
        threading.Thread(target=self._receive_calls, args=(calls,), name="calls", daemon=True).start()
        try:
            actor = _make_actor(spec)
        except Exception as error:
            actor = _FailedActor(error)
        for _ in range(CONTROL_THREADS):
            threading.Thread(target=self._run_control_calls, args=(actor,), name="control", daemon=True).start()
        while True:
            call = self._main.get()
            self._answer(actor, call)
            if call.method == "run":
                return

    def _receive_spec(self) -> tuple[ActorSpec, list[bytes]]:
        """The first message, and those received with it."""
        while not (messages := list(self._frames.messages(self._read()))):
            pass
        return _decode_spec(messages[0]), messages[1:]

    def _receive_calls(self, messages: list[bytes]) -> None:
        while True:
            for call in map(_decode_call, messages):
                (self._main if call.method in ("start", "run") else self._control).put(call)
            messages = list(self._frames.messages(self._read()))

    def _read(self) -> bytes:
        """Received bytes; the process exits when the placement is gone."""
        try:
            received = self._connection.recv(MAX_READ)
        except OSError:
            received = b""
        if not received:
            os._exit(os.EX_UNAVAILABLE)
        return received

    def _run_control_calls(self, actor: Any) -> None:
        while True:
            self._answer(actor, self._control.get())

    def _answer(self, actor: Any, call: Call) -> None:
        try:
            value = getattr(actor, call.method)(*call.arguments)
            reply = CallReply(call.number, value=msgspec.msgpack.encode(value))
        except Exception as error:
            reply = CallReply(call.number, error=_as_cactus_error(error).info())
        self._send(reply)

    def _send(self, reply: CallReply) -> None:
        with self._sending:
            self._connection.sendall(frame_of(reply))


class _FailedActor:
    """Replaces an actor whose constructor failed: every call raises that error."""

    def __init__(self, error: Exception) -> None:
        self._error = _as_cactus_error(error)

    def __getattr__(self, method: str) -> Any:
        raise self._error


def _make_actor(spec: ActorSpec) -> Any:
    settings_type = getattr(importlib.import_module(spec.settings_module), spec.settings_name)
    kind = getattr(importlib.import_module(spec.module), spec.name)
    return kind(msgspec.msgpack.decode(spec.settings, type=settings_type))


def _as_cactus_error(error: Exception) -> CactusError:
    """The error to report; the traceback of an unexpected one goes to standard error."""
    if isinstance(error, CactusError):
        return error
    traceback.print_exception(error)
    return ServerFailure(f"{type(error).__name__}: {error}")


def main() -> None:
    _, _, descriptor, parent = sys.argv[1:]
    end_with_parent(int(parent))
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service stops its actors itself
    connection = socket.socket(fileno=int(descriptor))
    connection.set_inheritable(False)  # child processes of the actor must not inherit it
    ActorProcess(connection).serve()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(os.EX_OK)  # a hanging control call must not block the exit


if __name__ == "__main__":
    main()

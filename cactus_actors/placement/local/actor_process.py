"""The process of one actor: `python -m cactus_actors.placement.local.actor_process KIND NAME FD PARENT`.

FD is a socket to the placement in the process PARENT, with which it ends. KIND and NAME are for those who
look at the list of processes.
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
"""So that an actor can be stopped while it owes an answer to somebody else."""
MAX_READ = 65_536

_decode_spec = msgspec.msgpack.Decoder(ActorSpec).decode
_decode_call = msgspec.msgpack.Decoder(Call).decode


class ActorProcess:
    """Takes calls from a socket: `start` and `run` for the main thread, all others for threads beside it.

    The process ends when the socket does.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._frames = FrameDecoder()
        self._main: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self._control: queue.SimpleQueue[Call] = queue.SimpleQueue()

    def serve(self) -> None:
        """Build the actor and carry out calls, until its `run` ends."""
        spec, calls = self._receive_spec()
        threading.Thread(target=self._receive_calls, args=(calls,), name="calls", daemon=True).start()
        try:
            actor = _actor_of(spec)
        except Exception as error:
            actor = _NotBuilt(error)
        for _ in range(CONTROL_THREADS):
            threading.Thread(target=self._take_control, args=(actor,), name="control", daemon=True).start()
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
        """What the placement sent; this process ends with it."""
        try:
            received = self._connection.recv(MAX_READ)
        except OSError:
            received = b""
        if not received:
            os._exit(os.EX_UNAVAILABLE)
        return received

    def _take_control(self, actor: Any) -> None:
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


class _NotBuilt:
    """Stands for an actor that could not be built: that is the answer to every call."""

    def __init__(self, error: Exception) -> None:
        self._error = _as_cactus_error(error)

    def __getattr__(self, method: str) -> Any:
        raise self._error


def _actor_of(spec: ActorSpec) -> Any:
    settings_type = getattr(importlib.import_module(spec.settings_module), spec.settings_name)
    kind = getattr(importlib.import_module(spec.module), spec.name)
    return kind(msgspec.msgpack.decode(spec.settings, type=settings_type))


def _as_cactus_error(error: Exception) -> CactusError:
    """The error that is told; of one that nobody foresaw the traceback goes to standard error."""
    if isinstance(error, CactusError):
        return error
    traceback.print_exception(error)
    return ServerFailure(f"{type(error).__name__}: {error}")


def main() -> None:
    _, _, descriptor, parent = sys.argv[1:]
    end_with_parent(int(parent))
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service ends its actors itself
    connection = socket.socket(fileno=int(descriptor))
    connection.set_inheritable(False)  # a process that the actor starts must not keep it open
    ActorProcess(connection).serve()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(os.EX_OK)  # a control call that hangs must not keep it


if __name__ == "__main__":
    main()

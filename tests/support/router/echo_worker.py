"""A worker that repeats the prompt of each job."""

from __future__ import annotations

import threading
from typing import Self

import zmq

from cactus_actors.keys.key_file import Credentials
from cactus_actors.protocol.wire import encode, router_command_decoder
from cactus_actors.protocol.worker_messages import Abort, Dispatch, Finish, Report, SequenceDelta, Welcome
from tests.support.router.worker_messages import make_delta, make_hello

NUM_SLOTS = 4


class EchoWorker:
    """Generates the prompt's letters again and again, one per step: the token ids are known in advance.

    The last token of each job waits for `may_end`, if that is set.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        step_s: float,
        credentials: Credentials | None = None,
        num_slots: int = NUM_SLOTS,
        may_end: threading.Event | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._num_slots = num_slots
        self._may_end = may_end
        self._credentials = credentials
        self._step_s = step_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)

    def _run(self) -> None:
        num_blocks = 16 * self._num_slots
        hello = make_hello("echo", num_slots=self._num_slots, num_blocks=num_blocks)
        decoder = router_command_decoder()
        running: dict[int, tuple[Dispatch, int]] = {}  # dispatch id -> dispatch, next position
        num_accepted, epoch = 0, None
        with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
            socket.linger = 0
            if self._credentials is not None:
                self._credentials.secure(socket)
            socket.connect(self._endpoint)
            socket.send_multipart(encode(hello))
            while not self._stop.wait(self._step_s):
                while socket.poll(0):
                    match decoder.decode(socket.recv_multipart()):
                        case Welcome() as welcome:
                            running.clear()
                            num_accepted = 0
                            if epoch not in (None, welcome.epoch):
                                socket.send_multipart(encode(hello))
                            epoch = welcome.epoch
                        case Dispatch() as dispatch:
                            num_accepted += 1
                            running[dispatch.dispatch_id] = (dispatch, len(dispatch.emitted_ids))
                        case Abort(dispatch_id):
                            running.pop(dispatch_id, None)
                steps = [self._step(running, dispatch_id) for dispatch_id in [*running]]
                deltas = [delta for delta in steps if delta is not None]
                free_slots = self._num_slots - len(running)
                report = Report(num_accepted, free_slots, num_blocks, len(running), deltas)
                if socket.poll(0, zmq.POLLOUT):
                    socket.send_multipart(encode(report))

    def _step(self, running: dict[int, tuple[Dispatch, int]], dispatch_id: int) -> SequenceDelta | None:
        dispatch, position = running[dispatch_id]
        token_id = dispatch.prompt_ids[position % len(dispatch.prompt_ids)]
        is_last = position + 1 >= dispatch.params.max_tokens
        if is_last and self._may_end is not None and not self._may_end.is_set():
            return None
        running[dispatch_id] = (dispatch, position + 1)
        if is_last:
            del running[dispatch_id]
        finish = Finish("length") if is_last else None
        return make_delta(dispatch_id, position, chr(token_id), finish=finish)

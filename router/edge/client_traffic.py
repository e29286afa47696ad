"""Passes messages of the edge process to the core."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

from cactus_actors.protocol.errors import AuthenticationFailed, CactusError
from cactus_actors.protocol.wire import (
    RequestDecoder,
    answer_encoding_of,
    encoding_of,
    message_ids_of,
)
from cactus_actors.router.auth.large_messages import LARGE_BYTES
from cactus_actors.router.core import RouterCore
from cactus_actors.router.edge.edge_messages import (
    BadTopic,
    ClientRequest,
    FromEdge,
    Refusals,
    RequestsTaken,
    Revocation,
    Subscription,
    Unsubscription,
)
from cactus_actors.router.edge.edge_process import EdgeProcess
from cactus_actors.router.effects import Effect
from cactus_actors.router.state.caller import requester_of
from cactus_actors.router.state.user_round_robin import UserRoundRobin

MAX_REQUESTS = 16
MAX_REQUESTS_S = 0.02
"""The most requests, and seconds of them, between two polls of the workers: requests must not delay tokens."""
MAX_UNTOLD = 8
"""Handled small requests of which the edge process need not hear: it sends many more before it waits."""

Perform = Callable[[Sequence[Effect]], None]


class ClientTraffic:
    """Handles messages of the edge process; `perform` performs the core's effects.

    Refusals of connections are counted in `refused`, by reason.
    """

    def __init__(self, edge: EdgeProcess, core: RouterCore, refused: Counter[str], perform: Perform) -> None:
        self._edge = edge
        self._core = core
        self._refused = refused
        self._perform = perform
        self._decode = RequestDecoder().decode
        self._waiting: UserRoundRobin[ClientRequest] = UserRoundRobin()
        self._num_untold = 0

    @property
    def has_waiting(self) -> bool:
        """True if `answer` can answer a request now."""
        return bool(self._waiting) and not self._edge.is_congested

    def handle_requests(self) -> None:
        """Receive messages; requests wait for `answer`."""
        for message in self._edge.receive():
            self._on_message(message)

    def answer(self) -> None:
        """Answer requests, round robin by requester, within the limits of one turn of the loop."""
        if not self._waiting:
            return
        until, num_taken, num_bytes = time.monotonic() + MAX_REQUESTS_S, 0, 0
        while (
            num_taken < MAX_REQUESTS and not self._edge.is_congested and (request := self._waiting.take()) is not None
        ):
            self._answer(request)
            num_taken += 1
            num_bytes += sum(map(len, request.frames))
            if time.monotonic() >= until:
                break
        self._num_untold += num_taken
        if self._num_untold >= MAX_UNTOLD or num_bytes > LARGE_BYTES:
            self._edge.put(RequestsTaken(self._num_untold))
            self._num_untold = 0

    def on_edge_lost(self) -> None:
        """Drop the requests of the lost edge process; its clients reconnect."""
        self._waiting, self._num_untold = UserRoundRobin(), 0
        self._core.on_edge_lost()

    def _on_message(self, message: FromEdge) -> None:
        match message:
            case ClientRequest():
                self._waiting.put(message, requester_of(message.caller, message.identity), is_background=False)
            case Subscription(topic, caller, refusal):
                self._perform(self._core.on_listener(topic, time.monotonic(), caller, refusal))
            case Unsubscription(topic, caller):
                self._core.on_unsubscribed(topic, caller)
            case BadTopic():
                self._core.on_bad_topic()
            case Revocation(revoked):
                clients = frozenset(map(self._edge.identity, revoked.clients))
                self._perform(self._core.on_revoked(revoked.of(clients), time.monotonic()))
            case Refusals(counts):
                self._refused.update(counts)

    def _answer(self, request: ClientRequest) -> None:
        identity, frames = self._edge.identity(request.identity), request.frames
        try:
            if request.caller is None:
                raise AuthenticationFailed("this key is not accepted any more")
            message, pictures = self._decode(frames)
        except CactusError as error:
            effects = self._core.on_bad_frames(identity, error, answer_encoding_of(frames), message_ids_of(frames))
        else:
            now, encoding = time.monotonic(), encoding_of(frames[0])
            effects = self._core.on_client(identity, message, encoding, now, request.caller, pictures)
        self._perform(effects)

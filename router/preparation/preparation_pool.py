"""A main and a spare preparation thread; the spare one serves other users during a slow request."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cactus_actors.protocol.errors import CactusError, Overloaded
from cactus_actors.router.effects import PrepareRequest
from cactus_actors.router.preparation.preparer import Outcome, Preparer, encoded_request, outcome_of
from cactus_actors.router.state.user_round_robin import UserRoundRobin


@dataclass(frozen=True, slots=True)
class PoolTiming:
    """A request that takes longer than `slow_s` is slow, and its user counts as slow for `slow_for_s`.

    The spare preparer checks every `check_s` seconds whether the main one is blocked, and rests after
    `rest_after_s` seconds without requests. A new request that has waited longer than `max_wait_s` is refused: its
    client would soon take the router for dead (`Timeouts.first_reply_s`). Background requests are prepared every
    `gather_s` seconds, or when MAX_TOGETHER wait: each time wakes four threads of three processes.
    """

    slow_s: float = 0.25
    slow_for_s: float = 60.0
    check_s: float = 0.05
    rest_after_s: float = 60.0
    max_wait_s: float = 8.0
    gather_s: float = 0.008


DEFAULT_TIMING = PoolTiming()

LARGE_BYTES = 64 << 10
"""A larger request waits in a separate line, so that its user's small requests need not wait for it."""

MAX_TOGETHER = 16
MAX_BYTES_TOGETHER = 16 << 10
"""The most background requests of a user, and bytes of them, that are prepared together: their results are too."""

Prepared = tuple[str, Outcome]
"""The id of a job and the outcome of its request."""


class QueuedRequest(NamedTuple):
    """A request that waits for its preparation `since` a time."""

    request: PrepareRequest
    since: float


class PreparationPool:
    """Prepares requests, and calls `on_prepared` with the jobs and outcomes of those that were prepared together.

    The main thread serves users in turn. While a slow request blocks it, the spare one serves other users, except
    those who were slow recently. The small requests of a user keep their order, and so do the large ones.
    """

    def __init__(
        self,
        first: Preparer,
        spare: Preparer,
        on_prepared: Callable[[Sequence[Prepared]], None],
        timing: PoolTiming = DEFAULT_TIMING,
        load: Callable[[Sequence[bytes]], list[bytes]] = list,
    ) -> None:
        """`load` reads the pictures of a recovered job from the journal, by their digests; raises StorageFailure."""
        self._load = load
        self._first = first
        self._spare = spare
        self._on_prepared = on_prepared
        self._timing = timing
        self._turns: UserRoundRobin[QueuedRequest] = UserRoundRobin()
        self._changed = threading.Condition()  # only the main thread waits for it
        self._closing = threading.Event()
        self._waiting = threading.Event()
        """Set while requests may wait for the main thread; wakes the spare one."""
        self._held: tuple[str, float] | None = None
        """The line of the request in the main thread, and its start time."""
        self._skipped_user: str | None = None
        """The line of the request in the spare thread."""
        self._slow_until: dict[str, float] = {}
        self._num_usual = self._num_background = 0
        """The requests that wait, and the background ones."""
        self._gathers_until = 0.0
        """The time at which background requests are prepared next."""
        self._threads = [
            threading.Thread(target=self._run_first, name="preparing"),
            threading.Thread(target=self._run_spare, name="preparing-spare"),
        ]
        for thread in self._threads:
            thread.start()

    def add(self, request: PrepareRequest) -> None:
        """Queue a request; it is decoded when its turn comes."""
        with self._changed:
            queued = QueuedRequest(request, time.monotonic())
            self._turns.put(queued, _line_of(request), is_background=request.is_background)
            self._num_background += request.is_background
            self._num_usual += not request.is_background
            if not self._waiting.is_set():
                self._waiting.set()
            if not request.is_background or self._num_background in (1, MAX_TOGETHER):
                self._changed.notify()

    def close(self) -> None:
        """Prepare the queued requests and end."""
        with self._changed:
            self._closing.set()
            self._waiting.set()
            self._changed.notify()
        for thread in self._threads:
            thread.join()

    def _run_first(self) -> None:
        self._first.make_ready()
        while queued := self._next():
            self._first.make_ready()
            self._have_prepared(self._first, queued)
            self._first.make_ready()  # the request may have cost it its process
            with self._changed:
                self._held = None

    def _run_spare(self) -> None:
        is_resting = False
        while not self._closing.is_set():
            if not self._waiting.wait(None if is_resting else self._timing.rest_after_s):
                self._spare.rest()
                is_resting = True
            elif not self._closing.wait(self._timing.check_s):
                is_resting &= not self._overtake()
                with self._changed:
                    if not self._turns:
                        self._waiting.clear()

    def _overtake(self) -> bool:
        """Prepare requests that need not wait for the main thread; True if there were any."""
        if not self._may_overtake():
            return False
        self._spare.make_ready()  # the main thread may become free meanwhile
        while queued := self._overtaking():
            self._have_prepared(self._spare, queued)
            with self._changed:
                self._skipped_user = None
                self._changed.notify()
        return True

    def _next(self) -> Sequence[QueuedRequest]:
        """Wait for the main thread's next requests; none after `close`, when none is left."""
        with self._changed:
            while True:
                left_s = self._gathers_until - time.monotonic()
                if self._closing.is_set() or self._num_usual or self._num_background >= MAX_TOGETHER or left_s <= 0:
                    if queued := self._taken(lambda user: user != self._skipped_user):
                        self._held = _line_of(queued[0].request), time.monotonic()
                        return queued
                    if self._closing.is_set() and not self._turns:
                        return ()
                    self._changed.wait()
                else:
                    self._changed.wait(left_s)

    def _taken(self, may_go: Callable[[str], bool]) -> Sequence[QueuedRequest]:
        """The next requests of a line that may go now, which no longer wait."""
        queued = self._turns.take_together(may_go, _joins)
        if queued and queued[0].request.is_background:
            self._num_background -= len(queued)
            self._gathers_until = time.monotonic() + self._timing.gather_s
        else:
            self._num_usual -= len(queued)
        return queued

    def _may_overtake(self) -> bool:
        with self._changed:
            return self._turns.has(self._overtakers())

    def _overtaking(self) -> Sequence[QueuedRequest]:
        """The next requests that need not wait for the main thread; none while that is not blocked."""
        with self._changed:
            queued = self._taken(self._overtakers())
            self._skipped_user = _line_of(queued[0].request) if queued else None
            return queued

    def _overtakers(self) -> Callable[[str], bool]:
        """A predicate: True if the spare thread takes requests of a line now."""
        now = time.monotonic()
        if self._held is None:
            return lambda _: False
        holder, since = self._held
        if now - since < self._timing.slow_s and not self._is_slow(holder, now):
            return lambda _: False
        return lambda user: user != holder and not self._is_slow(user, now)

    def _is_slow(self, user: str, now: float) -> bool:
        return self._slow_until.get(user, now) > now

    def _have_prepared(self, preparer: Preparer, queued: Sequence[QueuedRequest]) -> None:
        """Prepare requests of one line; those that have waited too long are refused."""
        began = time.monotonic()
        outcomes: list[Prepared] = []
        timely: list[PrepareRequest] = []
        for request, since in queued:
            if request.sources is None and began - since > self._timing.max_wait_s:
                outcomes.append((request.job_id, _too_late()))
            else:
                timely.append(request)
        job_ids = [request.job_id for request in timely]
        outcomes += zip(job_ids, self._outcomes(preparer, timely), strict=True)
        now = time.monotonic()
        if now - began > self._timing.slow_s * max(1, len(timely)):
            with self._changed:
                known = {user: until for user, until in self._slow_until.items() if until > now}
                self._slow_until = known | {_line_of(queued[0].request): now + self._timing.slow_for_s}
        self._on_prepared(outcomes)

    def _outcomes(self, preparer: Preparer, requests: Sequence[PrepareRequest]) -> Sequence[Outcome]:
        if len(requests) > 1:
            with contextlib.suppress(Exception):  # each alone is prepared, or fails for its own reason
                return preparer.prepare_together([encoded_request(request) for request in requests])
        return [self._outcome(preparer, request) for request in requests]

    def _outcome(self, preparer: Preparer, request: PrepareRequest) -> Outcome:
        try:
            frames = request.frames or self._load(request.kept)
        except CactusError as error:
            return error
        return outcome_of(preparer, encoded_request(request), frames)


def _too_late() -> Overloaded:
    return Overloaded(
        "requests wait too long to be prepared: pictures and long prompts take their time; send fewer at once",
        retry_after=2.0,
    )


def _joins(together: Sequence[QueuedRequest], following: QueuedRequest) -> bool:
    """True if a request may be prepared together with those before it in its line."""
    requests = [*(each.request for each in together), following.request]
    if len(requests) > MAX_TOGETHER or sum(len(request.content) for request in requests) > MAX_BYTES_TOGETHER:
        return False
    return all(request.is_background and not (request.frames or request.kept) for request in requests)


def _line_of(request: PrepareRequest) -> str:
    """The line of a request: each user has one for small and one for large requests."""
    num_bytes = len(request.content) + sum(map(len, request.frames))
    return f"{request.user}\0large" if num_bytes > LARGE_BYTES or request.kept else request.user

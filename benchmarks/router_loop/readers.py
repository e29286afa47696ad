"""The process of clients: it submits jobs, and reads every stream with little work per byte."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection

import msgspec
import zmq

from benchmarks.router_loop.zmtp import CHUNK, ZmtpConnection, frame_at
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.tcp_keepalive import MAX_TOPICS, set_options
from cactus_actors.protocol.wire import encode

NUM_USERS = 50
PROMPT_TOKENS = 32
MAX_ON_THE_WAY = 256
"""Jobs that are submitted and not yet accepted."""
STAMP = b"@"
LOOK_AT_EVERY = 4
"""The delays of one in this number of received chunks are recorded."""
STAMPED = re.compile(rb"@(\d+\.\d{6})")
"""The time at which the first token of a delta was sent."""
BEFORE_PAYLOAD = 2 + 32 + 2 + 2
"""The frames of the topic and of the header, with their lengths."""
KIND = slice(7, 12)
"""Offset of the type in a msgpack message."""


class Counts(msgspec.Struct):
    """Tokens received on the streams, the number of messages, ended jobs, and delays in seconds."""

    tokens: int = 0
    messages: int = 0
    jobs: int = 0
    delays: list[float] = []


class _Header(msgspec.Struct):
    type: str
    job_id: str = ""


class StreamConnection:
    """The connection of a subscriber, read with little work per byte."""

    def __init__(self, endpoint: str) -> None:
        self.connection = ZmtpConnection(endpoint, "SUB")
        self.topics: set[str] = set()

    def subscribe(self, topic: str) -> None:
        self.topics.add(topic)
        self.connection.send(b"\1" + topic.encode())

    def unsubscribe(self, topic: str) -> None:
        self.topics.discard(topic)
        self.connection.send(b"\0" + topic.encode())

    def read(self) -> Iterator[bytes]:
        """The payloads of the messages that are complete."""
        received = self.connection.received + self.connection.socket.recv(CHUNK)
        start = 0
        while (found := frame_at(received, start + BEFORE_PAYLOAD)) is not None:
            _, begin, start = found
            yield received[begin:start]
        self.connection.received = received[start:]


class Readers:
    """Keeps the wanted number of jobs in flight; subscribes to each before it is submitted."""

    def __init__(self, jobs: str, stream: str, num_jobs: int, job_tokens: int) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._jobs = context.socket(zmq.DEALER)
        set_options(self._jobs, {zmq.LINGER: 0, zmq.SNDHWM: 0, zmq.RCVHWM: 0})
        self._jobs.connect(jobs)
        self._num_jobs, self._job_tokens = num_jobs, job_tokens
        num_connections = -(-num_jobs // (MAX_TOPICS - 16))
        self._streams = [StreamConnection(stream) for _ in range(num_connections)]
        self._by_topic: dict[str, StreamConnection] = {}
        self._on_the_way: set[str] = set()
        self._num_submitted = self._num_read = 0
        self._decode = msgspec.msgpack.Decoder(_Header).decode
        self._poller = zmq.Poller()
        self._poller.register(self._jobs, zmq.POLLIN)
        self._of_descriptor = {it.connection.fileno(): it for it in self._streams}
        for descriptor in self._of_descriptor:
            self._poller.register(descriptor, zmq.POLLIN)
        self.counts = Counts()

    @property
    def is_full(self) -> bool:
        """True if all jobs are in flight."""
        return len(self._by_topic) >= self._num_jobs and not self._on_the_way

    def turn(self) -> None:
        """Read all messages that have arrived, and submit missing jobs."""
        for source, _ in self._poller.poll(50):
            if source is self._jobs:
                self._read_replies()
            else:
                self._read_stream(self._of_descriptor[source])
        while len(self._by_topic) < self._num_jobs and len(self._on_the_way) < MAX_ON_THE_WAY:
            self._submit()

    def _read_stream(self, connection: StreamConnection) -> None:
        now = time.monotonic()
        self._num_read += 1
        is_looked_at = self._num_read % LOOK_AT_EVERY == 0
        for payload in connection.read():
            if payload[KIND] == b"delta":
                self.counts.tokens += payload.count(STAMP)
                self.counts.messages += 1
                if is_looked_at and (stamp := STAMPED.search(payload)):
                    self.counts.delays.append(now - float(stamp[1]))

    def _read_replies(self) -> None:
        while True:
            try:
                _, payload = self._jobs.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            reply = self._decode(payload)
            self._on_the_way.discard(reply.job_id)
            if reply.type == "finished":
                self._by_topic.pop(reply.job_id).unsubscribe(reply.job_id)
                self.counts.jobs += 1
            elif reply.type != "accepted":
                raise AssertionError(f"a job was refused: {payload!r}")

    def _submit(self) -> None:
        self._num_submitted += 1
        number = self._num_submitted
        topic = f"{number:032x}"
        connection = min(self._streams, key=lambda it: len(it.topics))
        connection.subscribe(topic)
        self._by_topic[topic] = connection
        self._on_the_way.add(topic)
        options = Options(max_tokens=self._job_tokens, seed=number, ignore_eos=True, user=f"user-{number % NUM_USERS}")
        prompt: list[int | str] = [1000 + number % 50_000] * PROMPT_TOKENS
        self._jobs.send_multipart(encode(Submit(job_id=topic, prompt=prompt, options=options)))


def run_readers(jobs: str, stream: str, num_jobs: int, job_tokens: int, control: Connection) -> None:
    """Keep jobs in flight; send True when all are, and the Counts since then when asked."""
    readers = Readers(jobs, stream, num_jobs, job_tokens)
    while not readers.is_full:
        readers.turn()
    control.send(True)
    while True:
        readers.turn()
        if control.poll():
            control.recv()
            control.send_bytes(msgspec.msgpack.encode(readers.counts))
            readers.counts = Counts()

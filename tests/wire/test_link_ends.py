"""libzmq aborts a process that has to send heartbeats to a disconnected peer with unread messages."""

from __future__ import annotations

import subprocess
import sys

UNREAD = """
import time
import zmq
from cactus_actors.protocol.tcp_keepalive import set_options
from tests.support.router.raw_peer import RawPeer, frame

context = zmq.Context()
socket = context.socket(zmq.ROUTER)
set_options(socket, {zmq.RCVHWM: 64, zmq.LINGER: 0})
socket.bind("tcp://127.0.0.1:*")
peer = RawPeer(socket.getsockopt_string(zmq.LAST_ENDPOINT), "DEALER")
peer.send(frame(b"unread") * 1000)
assert socket.poll(60_000)  # what comes at once is taken from TCP at once
peer.reset()
time.sleep(1.5)  # a heartbeat of every second would be due
num_read = 0
while socket.poll(200 if num_read > 64 else 60_000):
    socket.recv_multipart()
    num_read += 1
assert num_read > 64, num_read
context.destroy()
"""


def test_a_connection_reset_with_waiting_messages_ends_no_process() -> None:
    program = subprocess.run([sys.executable, "-c", UNREAD], timeout=60.0, check=False)
    assert program.returncode == 0

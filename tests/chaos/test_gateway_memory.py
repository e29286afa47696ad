"""Bodies and readers that need much of the gateway's memory: it is bounded, and every request is answered."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.support.http.raw_http import connection, post, statuses
from tests.support.router.scripted_router import until

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc"),
]

MIB = 1024 * 1024
NUM_BODIES, BODY_BYTES, AT_ONCE = 1000, 8 * MIB, 100
MAX_OPEN_BYTES = 64 * MIB
FIELD = b"a" * 60_000
CHUNK = b"%x\r\n%b\r\n" % (len(FIELD), FIELD)
HEAD = post(b"Transfer-Encoding: chunked", body=b'c\r\n{"prompt": "\r\n', has_length=False)

GATEWAY = """
import sys
from cactus_actors.config import GatewaySettings
from cactus_actors.gateway.server import GatewayServer
state_dir, max_open_bytes = sys.argv[1:]
gateway = GatewayServer(GatewaySettings(
    listen="127.0.0.1:0", state_dir=state_dir, max_open_bytes=int(max_open_bytes)))
print(gateway.address, flush=True)
gateway.run("tcp://127.0.0.1:1", "tcp://127.0.0.1:2")
"""


class Gateway:
    """A gateway in its own process, without a router: its replies are 503."""

    def __init__(self, state_dir: Path) -> None:
        command = [sys.executable, "-c", GATEWAY, str(state_dir), str(MAX_OPEN_BYTES)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        self.url = f"http://{self._process.stdout.readline().strip()}"

    def memory(self, name: str = "VmRSS") -> float:
        """Its present MiB, or with `VmHWM` their maximum (proc_pid_status(5))."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        [line] = [line for line in lines if line.startswith(f"{name}:")]
        return int(line.split()[1]) / 1024

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    gateway = Gateway(tmp_path)
    yield gateway
    gateway.stop()


def test_a_thousand_oversized_bodies_use_bounded_memory(gateway: Gateway) -> None:
    before = gateway.memory()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        all_have_sent, is_full = threading.Barrier(AT_ONCE), threading.Event()
        asked = threads.map(lambda _: answer_to_a_body(gateway.url, all_have_sent, is_full), range(NUM_BODIES))
        answers = Counter(asked)
    grown = gateway.memory("VmHWM") - before
    print(f"{dict(answers)}, {grown:.0f} MiB more than {before:.0f} at the most")
    assert set(answers) <= {413, 429}
    assert answers[413] > 0
    assert answers[429] > 0
    assert grown < 2 * MAX_OPEN_BYTES / MIB + AT_ONCE * 0.5
    assert httpx.get(f"{gateway.url}/healthz").status_code == 200
    small = httpx.post(f"{gateway.url}/v1/completions", json={"prompt": "a"})
    assert small.status_code == 503  # nothing is held any more


def answer_to_a_body(url: str, all_have_sent: threading.Barrier, is_full: threading.Event) -> int:
    """The status of the reply to a body of BODY_BYTES without a Content-Length.

    All have sent 3 MiB at one time, and none sends more until one was refused for lack of memory.
    """
    with connection(url, 60.0) as opened:
        with suppress(OSError):
            opened.sendall(HEAD + CHUNK * (3 * MIB // len(CHUNK)))
        all_have_sent.wait(120)
        until(lambda: is_full.wait(0.1) or bool(select.select([opened], [], [], 0)[0]))
        with suppress(OSError):
            opened.sendall(CHUNK * ((BODY_BYTES - 3 * MIB) // len(CHUNK)))
        received = b""
        with suppress(OSError):
            while part := opened.recv(65536):
                received += part
        status = statuses(received)[0]
        if status == 429:
            is_full.set()
        return status


FLOODS = {
    "objects": (b'{"prompt":"a","x":[', b"{}", b"]}"),
    "messages": (b'{"messages":[', b'{"role":"user","content":"a"}', b"]}"),
    "tools": (
        b'{"messages":[{"role":"user","content":"a"}],"tools":[',
        b'{"type":"function","function":{"name":"f"}}',
        b"]}",
    ),
    "strings": (b'{"prompt":"a","x":[', b'"a"', b"]}"),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_many_bodies_of_many_small_values_delay_no_request_and_are_freed(gateway: Gateway, kind: str) -> None:
    head, value, tail = FLOODS[kind]
    body = head + b",".join([value] * ((4 * MIB - 100) // (len(value) + 1))) + tail
    path = "/v1/chat/completions" if b"messages" in head else "/v1/completions"
    before, is_over = gateway.memory(), threading.Event()

    def ask(_: int) -> int:
        with suppress(httpx.TransportError):
            return httpx.post(
                f"{gateway.url}{path}", content=body, headers={"content-type": "application/json"}, timeout=120
            ).status_code
        return 0

    answered: list[float] = []

    def look() -> None:
        while not is_over.is_set():
            requested_at = time.monotonic()
            httpx.get(f"{gateway.url}/healthz", timeout=60)
            answered.append(time.monotonic() - requested_at)
            time.sleep(0.05)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        with ThreadPoolExecutor(60) as threads:
            answers = Counter(threads.map(ask, range(60)))
    finally:
        is_over.set()
        looking.join()
    grown = gateway.memory("VmHWM") - before
    print(f"{kind}: {dict(answers)}, {grown:.0f} MiB more at the most, the latest answer after {max(answered):.2f} s")
    assert set(answers) <= {0, 400, 429, 503}
    assert gateway.memory("VmHWM") < 600
    assert max(answered) < 15.0
    until(lambda: gateway.memory() < before + 96)


def test_readers_that_read_nothing_use_little_memory_each(gateway: Gateway) -> None:
    body = json.dumps({"content": "word " * 20_000, "with_pieces": True}).encode()
    size = len(
        httpx.post(f"{gateway.url}/tokenize", content=body, headers={"content-type": "application/json"}).content
    )
    num_readers = 100
    before = gateway.memory()
    readers: list[socket.socket] = []
    try:
        for _ in range(num_readers):
            reader = socket.socket()
            readers.append(reader)
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect(("127.0.0.1", int(gateway.url.rpartition(":")[2])))
            reader.sendall(post(target=b"/tokenize", body=body))
        time.sleep(3)
        grown = gateway.memory() - before
        print(f"answers of {size / MIB:.1f} MiB: {grown / num_readers:.2f} MiB a reader")
        assert grown < num_readers * 2 * size / MIB + 64
        assert httpx.get(f"{gateway.url}/healthz").status_code == 200
    finally:
        for reader in readers:
            reader.close()

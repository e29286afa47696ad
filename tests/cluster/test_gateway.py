"""The gateway as an actor next to the router: it serves, is restarted, and stops after its requests."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import httpx
import pytest

from cactus_actors.config import ServeConfig
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.messages import Status
from cactus_actors.service.service import Service
from tests.support.processes.open_sockets import parent_of
from tests.support.router.scripted_router import until
from tests.support.services.running_service import Serve


@pytest.mark.chaos
def test_a_killed_gateway_restarts_and_its_streams_continue(serve: Serve) -> None:
    with serve(workers=1, http="127.0.0.1:0") as running:
        url = f"http://{running.http}"
        body = {"prompt": "Tell me", "max_tokens": 300, "ignore_eos": True, "seed": 7}
        whole = httpx.post(f"{url}/v1/completions", json=body, timeout=60).json()["choices"][0]["text"]
        headers, texts = {"idempotency-key": "k"}, [""]

        def read() -> None:
            last = None
            while True:
                asked = headers if last is None else headers | {"last-event-id": last}
                try:
                    streamed = body | {"stream": True}
                    with httpx.stream("POST", f"{url}/v1/completions", json=streamed, headers=asked) as response:
                        if response.status_code != 200:
                            raise httpx.ReadError("not yet")
                        for line in response.iter_lines():
                            if line.startswith("id: "):
                                last = line.removeprefix("id: ")
                            elif line.startswith("data: {"):
                                texts[0] += httpx.Response(200, text=line[6:]).json()["choices"][0]["text"]
                            elif line == "data: [DONE]":
                                return
                except httpx.TransportError:
                    threading.Event().wait(0.1)

        reading = threading.Thread(target=read)
        reading.start()
        until(lambda: texts[0] != "")
        os.kill(_gateway_pid(running.client.status()), signal.SIGKILL)
        reading.join(60)
        assert texts[0] == whole
        until(lambda: any("the gateway ended" in line for line in running.lines))


def test_a_gateway_on_a_public_address_needs_keys() -> None:
    with pytest.raises(ConfigurationInvalid, match="API key"):
        Service(ServeConfig(http="0.0.0.0:8080")).start()
    with pytest.raises(ConfigurationInvalid, match="missing"):
        Service(ServeConfig(api_key_file=Path("/missing"))).start()


def _gateway_pid(status: Status) -> int:
    """The process of the gateway, which has the same parent as the workers."""
    parents = {parent_of(worker.pid) for worker in status.workers}
    actors = Path("/proc").glob("[0-9]*/cmdline")
    gateways = [int(path.parent.name) for path in actors if b"GatewayActor" in path.read_bytes()]
    (pid,) = (pid for pid in gateways if parent_of(pid) in parents)
    return pid

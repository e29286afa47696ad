"""Ports in use are reported before any process starts."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from cactus_actors.config import ServeConfig
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.service.ports import check_ports

ANY = {"jobs_endpoint": "tcp://127.0.0.1:*", "stream_endpoint": "tcp://127.0.0.1:0", "http": ""}


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@pytest.mark.parametrize(
    ("field", "option", "form"),
    [
        ("jobs_endpoint", "--jobs-endpoint", "tcp://127.0.0.1:{}"),
        ("stream_endpoint", "--stream-endpoint", "tcp://localhost:{}"),
        ("workers_endpoint", "--workers-endpoint", "tcp://*:{}"),
        ("http", "--http", "127.0.0.1:{}"),
        ("ollama", "--ollama", "127.0.0.1:{}"),
    ],
)
def test_a_port_in_use_is_named_with_its_option(field: str, option: str, form: str, listener: socket.socket) -> None:
    endpoint = form.format(listener.getsockname()[1])
    with pytest.raises(ConfigurationInvalid) as refused:
        check_ports(ServeConfig(**{**ANY, field: endpoint}), wait_s=0.0)
    assert endpoint in refused.value.message
    assert option in refused.value.message


def test_the_start_waits_for_a_port_of_an_ending_service(listener: socket.socket) -> None:
    endpoint = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    closing = threading.Timer(0.3, listener.close)
    closing.start()
    check_ports(ServeConfig(**{**ANY, "jobs_endpoint": endpoint}))
    closing.join()
    assert listener.fileno() == -1, "it did not wait"


@pytest.mark.parametrize(
    "endpoint",
    ["ipc:///tmp/x", "tcp://nowhere.invalid:5555", "tcp://a..b:5555", "tcp://127.0.0.1:70000", "x"],
)
def test_undecidable_ports_are_left_to_the_binding_process(endpoint: str) -> None:
    check_ports(ServeConfig(**{**ANY, "jobs_endpoint": endpoint}))

"""API keys: authentication and isolation between keys."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cactus_actors.config import GatewaySettings
from cactus_actors.gateway.http.api_keys import (
    ApiKeys,
    accounts_of,
    check_exposure,
    digest_of,
    host_and_port,
    read_keys,
)
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from cactus_actors.gateway.server import GatewayServer
from cactus_actors.protocol.errors import AuthenticationFailed, ConfigurationInvalid
from cactus_actors.protocol.key_grants import KeyGrants
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service

ANN, BOB = "ann-0123456789abcdef", "bob-0123456789abcdef"


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    timeouts = GatewayTimeouts(headers_s=0.3, body_s=0.3)
    with fake_worker_service(tmp_path_factory.mktemp("state"), timeouts=timeouts) as service:
        yield service


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    keys = [digest_of(ANN), digest_of(BOB)]
    with fake_worker_service(tmp_path_factory.mktemp("state"), gateway={"key_digests": keys}) as service:
        yield service


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer"},
        {"authorization": ANN},
        {"authorization": f"Basic {ANN}"},
        bearer(ANN[:-1]),
        bearer(ANN + "0"),
        bearer("x" * 20_000),
        {b"authorization": b"Bearer \xc3\xa9\xff"},
        [("authorization", f"Bearer {ANN}"), ("authorization", f"Bearer {ANN}")],
    ],
)
@pytest.mark.parametrize(
    "path",
    [
        "/v1/models",
        "/metrics",
        "/nothing",
        "/health/",
        "//health",
        "/openapi.json",
        "/v1/requests/" + "0" * 24,
    ],
)
def test_every_route_needs_a_key(guarded: FakeWorkerService, path: str, headers: object) -> None:
    with guarded.http() as http:
        response = http.get(path, headers=headers)  # type: ignore[arg-type]
        assert response.status_code == 401
        assert response.json()["error"]["type"] == "authentication_error"
        assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["/health", "/healthz", "/readyz"])
def test_health_needs_no_key(guarded: FakeWorkerService, path: str) -> None:
    with guarded.http() as http:
        assert http.get(path).json() == {"status": "ok"}


def test_a_key_gives_access(guarded: FakeWorkerService) -> None:
    with guarded.http() as http:
        for path in ("/v1/models", "/metrics"):
            assert http.get(path, headers=bearer(ANN)).status_code == 200
        assert http.get("/v1/models", headers={"authorization": f"bearer {BOB}"}).status_code == 200


def test_metrics_can_be_public(tmp_path: Path) -> None:
    settings = {"key_digests": [digest_of(ANN)], "public_metrics": True}
    with fake_worker_service(tmp_path, gateway=settings) as service, service.http() as http:
        assert "cactus_up 1" in http.get("/metrics").text
        assert http.get("/v1/models").status_code == 401


def test_keys_do_not_see_each_others_objects(guarded: FakeWorkerService) -> None:
    with guarded.http(headers=bearer(ANN)) as ann, guarded.http(headers=bearer(BOB)) as bob:
        name = ann.post("/v1/completions", json={"prompt": "a"}).json()["id"]
        assert ann.get(f"/v1/requests/{name}").status_code == 200
        assert bob.get(f"/v1/requests/{name}").status_code == 404
        assert bob.delete(f"/v1/requests/{name}").status_code == 404
        event = f"{name.removeprefix('cmpl-')}:1.1"
        resumed = bob.post("/v1/completions", json={"prompt": "a", "stream": True}, headers={"last-event-id": event})
        assert resumed.status_code == 404
        form = {"files": {"file": ("a.jsonl", b"{}")}, "data": {"purpose": "batch"}}
        file_id = ann.post("/v1/files", **form).json()["id"]  # type: ignore[arg-type]
        assert ann.get(f"/v1/files/{file_id}").status_code == 200
        assert bob.get(f"/v1/files/{file_id}").status_code == 404
        assert bob.get(f"/v1/files/{file_id}/content").status_code == 404
        assert bob.delete(f"/v1/files/{file_id}").status_code == 404
        assert bob.get("/v1/files").json()["data"] == []
        batch = {"input_file_id": file_id, "endpoint": "/v1/completions", "completion_window": "24h"}
        assert bob.post("/v1/batches", json=batch).status_code == 404
        batch_id = ann.post("/v1/batches", json=batch).json()["id"]
        assert bob.get(f"/v1/batches/{batch_id}").status_code == 404
        assert bob.post(f"/v1/batches/{batch_id}/cancel").status_code == 404
        assert bob.get("/v1/batches").json()["data"] == []


def test_the_same_idempotency_key_of_two_api_keys_is_two_jobs(guarded: FakeWorkerService) -> None:
    answers = []
    for key in (ANN, BOB):
        with guarded.http(headers=bearer(key)) as http:
            asked = http.post("/v1/completions", json={"prompt": "a"}, headers={"idempotency-key": "same"})
            answers.append(asked.json()["id"])
    assert len(set(answers)) == 2


def test_cached_prefixes_are_shared_within_one_key_only(guarded: FakeWorkerService) -> None:
    salts = []
    for key, salt in ((ANN, None), (ANN, None), (BOB, None), (BOB, "x"), (ANN, "x")):
        with guarded.http(headers=bearer(key)) as http:
            http.post("/v1/completions", json={"prompt": "a", "cache_salt": salt})
        salts.append(guarded.worker.dispatches[-1].cache_salt)
    assert salts[0] == salts[1]
    assert len(set(salts)) == 4


@pytest.mark.parametrize("listen", ["0.0.0.0:8080", "[::]:8080", "10.0.0.1:80", "example.org:8080"])
def test_a_public_address_without_keys_does_not_start(listen: str) -> None:
    with pytest.raises(ConfigurationInvalid, match="API key"):
        GatewayServer(GatewaySettings(listen=listen))
    check_exposure(listen, [digest_of(ANN)], is_encrypted=True)


@pytest.mark.parametrize("listen", ["0.0.0.0:8080", "10.0.0.1:80"])
def test_keys_require_tls_off_loopback(listen: str) -> None:
    with pytest.raises(ConfigurationInvalid, match="--tls-cert"):
        GatewayServer(GatewaySettings(listen=listen, key_digests=[digest_of(ANN)]))
    check_exposure("127.0.0.1:8080", [digest_of(ANN)], is_encrypted=False)


@pytest.mark.parametrize("listen", ["8080", "localhost", "localhost:", ":8080", "localhost:99999", "h:x", ""])
def test_an_address_has_a_host_and_a_port(listen: str) -> None:
    with pytest.raises(ConfigurationInvalid) as caught:
        host_and_port(listen)
    assert caught.value.param == "http"


def test_an_address_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigurationInvalid, match=listen):
            GatewayServer(GatewaySettings(listen=listen))


def test_the_address_for_ollama_is_guarded_like_the_other(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match=r"^ollama: 0.0.0.0:1 can be reached") as caught:
        GatewayServer(GatewaySettings(listen="127.0.0.1:0", ollama="0.0.0.0:1"))
    assert caught.value.param == "ollama"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigurationInvalid, match=f"^ollama: cannot listen on {listen}"):
            GatewayServer(GatewaySettings(listen="127.0.0.1:0", ollama=listen))
    keys = {"key_digests": [digest_of(ANN)], "ollama": listen}
    with fake_worker_service(tmp_path, gateway=keys):
        assert httpx.get(f"http://{listen}/api/version").status_code == 401
        assert httpx.get(f"http://{listen}/api/version", headers=bearer(ANN)).status_code == 200


def test_keys_come_from_a_file_and_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# ours\n{ANN}\n\n  {BOB}  \n")
    assert list(read_keys(file, {})) == [digest_of(ANN), digest_of(BOB)]
    assert list(read_keys(file, {"CACTUS_API_KEYS": f"another-key,{ANN}"})) == [
        digest_of("another-key"),
        digest_of(ANN),
        digest_of(BOB),
    ]
    assert read_keys(None, {}) == {}
    for content in ("", "# none\n", "short\n"):
        file.write_text(content)
        with pytest.raises(ConfigurationInvalid):
            read_keys(file, {})
    with pytest.raises(ConfigurationInvalid):
        read_keys(tmp_path / "missing", {})


def test_a_key_may_be_followed_by_options(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    spaced, padded = "with spaces in it", "ends-with=equals=="
    file.write_text(f"{ANN} weight=3\n{BOB} cloud=never\n{spaced}\t cloud=never weight=1000\n{padded}\n")
    assert read_keys(file, {"CACTUS_API_KEYS": f"another-key weight=2,{ANN}  weight=3"}) == {
        digest_of("another-key"): KeyGrants(weight=2),
        digest_of(ANN): KeyGrants(weight=3),
        digest_of(BOB): KeyGrants(allow_cloud=False),
        digest_of(spaced): KeyGrants(weight=1000, allow_cloud=False),
        digest_of(padded): KeyGrants(),
    }


@pytest.mark.parametrize(
    ("behind", "said"),
    [
        ("weight=0", "is 1 to 1000"),
        ("weight=1001", "is 1 to 1000"),
        ("weight=", "is 1 to 1000"),
        ("weight=-1", "is 1 to 1000"),
        ("weight=1.5", "is 1 to 1000"),
        ("weight=2 weight=2", "once"),
        ("wieght=2", "may be followed"),
        (f"weight=2\n{ANN}", "given twice"),
        (f"cloud=never\n{ANN}", "given twice"),
        ("cloud=always", "cloud=never"),
        ("cloud=", "cloud=never"),
    ],
)
def test_invalid_options_are_refused_without_quoting_the_key(tmp_path: Path, behind: str, said: str) -> None:
    file = tmp_path / "keys"
    file.write_text(f"{ANN} {behind}\n")
    with pytest.raises(ConfigurationInvalid, match=said) as refused:
        read_keys(file, {})
    assert ANN not in str(refused.value)


async def test_waiting_api_keys_are_served_by_their_weights(tmp_path: Path) -> None:
    keys = {digest_of(ANN): KeyGrants(weight=3), digest_of(BOB): KeyGrants()}
    with fake_worker_service(
        tmp_path,
        gateway={"key_digests": list(keys)},
        router_settings={"accounts": accounts_of(keys)},
        is_held=True,
    ) as service:
        async with httpx.AsyncClient(base_url=service.url, timeout=30) as http:
            asked = []
            for number in range(40):
                for seed, key in enumerate((ANN, BOB)):
                    # User names divide only the share of their own key.
                    body = {"prompt": "a", "max_tokens": 3, "seed": seed, "user": f"u{number}"}
                    post = http.post("/v1/completions", json=body, headers=bearer(key))
                    asked.append(asyncio.create_task(post))
            with service.client() as client:
                while client.status().jobs.accepted < len(asked):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            num_before = len(service.worker.dispatches)
            service.worker.is_held = False
            assert {(await answer).status_code for answer in asked} == {200}
            seeds = [dispatch.params.seed for dispatch in service.worker.dispatches[num_before:]]
            assert 22 <= seeds[:32].count(0) <= 26


def test_the_lines_of_a_batch_belong_to_its_key(tmp_path: Path) -> None:
    keys = {digest_of(ANN): KeyGrants(weight=3)}
    settings = {"key_digests": list(keys)}
    accounts = accounts_of(keys)
    line = {"custom_id": "1", "method": "POST", "url": "/v1/completions", "body": {"prompt": "a"}}
    with (
        fake_worker_service(
            tmp_path, gateway=settings, router_settings={"accounts": accounts}, is_held=True
        ) as service,
        service.http(headers=bearer(ANN)) as http,
    ):
        form = {"files": {"file": ("a.jsonl", json.dumps(line).encode())}, "data": {"purpose": "batch"}}
        file_id = http.post("/v1/files", **form).json()["id"]  # type: ignore[arg-type]
        batch = {"input_file_id": file_id, "endpoint": "/v1/completions", "completion_window": "24h"}
        http.post("/v1/batches", json=batch).raise_for_status()
        until(lambda: bool(service.worker.dispatches))
        [job] = service.router.core.state.jobs.live.values()
        assert {job.user: job.submission.grants} == accounts
        service.worker.is_held = False


def test_a_wrong_key_takes_as_long_as_a_right_one() -> None:
    keys = ApiKeys([digest_of(f"key-{number}") for number in range(50)])

    def seconds(key: str) -> float:
        best = []
        for _ in range(30):
            started = time.perf_counter()
            for _ in range(50):
                with contextlib.suppress(AuthenticationFailed):
                    keys.tenant(f"Bearer {key}".encode())
            best.append(time.perf_counter() - started)
        return min(best)

    first, last = seconds("key-0"), seconds("key-49")
    assert 0.5 < first / last < 2.0


def test_missing_headers_time_out(impatient: FakeWorkerService) -> None:
    host, port = impatient.url.removeprefix("http://").split(":")
    for begun in (b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: "):
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(begun)
            if begun:  # an unsolicited response would be taken for the response to the next request
                assert connection.recv(4096).startswith(b"HTTP/1.1 408 ")
            assert connection.recv(4096) == b""


def test_a_missing_body_times_out(impatient: FakeWorkerService) -> None:
    host, port = impatient.url.removeprefix("http://").split(":")
    head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for body in (b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"):
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(head + body)
            assert connection.recv(4096).startswith(b"HTTP/1.1 408 ")


def test_too_many_open_requests_are_refused(tmp_path: Path) -> None:
    with (
        fake_worker_service(tmp_path, gateway={"max_open_requests": 1}, words=("x",) * 1000) as service,
        service.http() as http,
        http.stream("POST", "/v1/completions", json={"prompt": "a", "stream": True}) as response,
    ):
        assert response.status_code == 200
        refused = httpx.get(f"{service.url}/v1/models")
        assert (refused.status_code, refused.json()["error"]["type"]) == (429, "rate_limit_error")
        assert int(refused.headers["retry-after"]) >= 1
        assert httpx.get(f"{service.url}/health").status_code == 200

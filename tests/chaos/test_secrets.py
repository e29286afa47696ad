"""A service contains secrets and is asked in many ways to reveal them; then its files and output are searched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors import CactusError, Client
from cactus_actors.keys.key_file import read_key_file
from cactus_actors.keys.key_store import KeyStore, keys_dir
from tests.support.http.serving import Request, http_serving
from tests.support.processes.serve_command import Serving, serving

CLOUD_KEY = "sk-cloud-0f1e2d3c4b5a69788796a5b4c3d2e1f0"
API_KEY = "sk-api-00112233445566778899aabbccddeeff"
UNSURE: dict[str, Any] = {"max_tokens": 4, "cloud_handoff_threshold": 1.0, "seed": 1}
LOGS_EVERYTHING = "import logging\nlogging.basicConfig(level=logging.DEBUG)\n"


@contextmanager
def telling_cloud() -> Iterator[str]:
    """A cloud that repeats the key of each request in the bodies and headers of its failures."""
    num_asked = 0

    def answer(request: Request) -> None:
        nonlocal num_asked
        num_asked += 1
        request.rfile.read(int(request.headers["content-length"]))
        sent = request.headers["authorization"]
        status = {1: 500, 2: 400, 3: 401}.get(num_asked, 200)
        chunk = {"choices": [{"index": 0, "delta": {"content": "Paris"}, "finish_reason": "stop"}]}
        if status == 200:
            kind, body = "text/event-stream", f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
        else:
            kind, body = "application/json", json.dumps({"error": {"message": f"what is {sent}?"}})
        request.send_response(status, f"was sent {sent}")
        request.send_header("content-type", kind)
        request.send_header("content-length", str(len(body)))
        request.send_header("x-you-sent", sent)
        request.end_headers()
        request.wfile.write(body.encode())

    with http_serving(answer) as url:
        yield f"{url}/v1"


@dataclass
class Planted:
    """A service with secrets in every place, and all replies that it gave."""

    directory: Path
    ray_directory: Path
    service: Serving
    alice: Path
    answers: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.directory / "home"

    def secrets(self) -> dict[str, str]:
        store = KeyStore(keys_dir(self.directory / "state"))
        pairs = {path.name: read_key_file(path).pair for path in store.directory.glob("*.client.key")}
        return {
            "the cloud key": CLOUD_KEY,
            "the API key": API_KEY,
            "the service's own key": store.server_pair().reveal(),
            **self.ray_token(),
            **{name: pair.reveal() for name, pair in pairs.items()},
        }

    def ray_token(self) -> dict[str, str]:
        """Ray's token, if the service runs on Ray."""
        path = self.directory / "state" / "ray-token"
        return {"Ray's token": path.read_text()} if path.exists() else {}

    def run_cactus(self, *arguments: str | Path) -> None:
        """Run one command and keep its output."""
        done = subprocess.run(
            [sys.executable, "-m", "cactus_actors.cli.main", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "CACTUS_HOME": str(self.home)},
        )
        self.answers += [done.stdout, done.stderr]

    def ask(self, method: str, path: str, **request: Any) -> Any:
        """Send one HTTP request and keep its reply."""
        headers = {"authorization": f"Bearer {API_KEY}"} | request.pop("headers", {})
        response = httpx.request(method, f"{self.service.http}{path}", headers=headers, timeout=30, **request)
        self.answers += [response.text, str(response.headers)]
        return response

    def client(self) -> Client:
        return Client(self.service.jobs, self.service.stream, key_file=self.alice)


@pytest.fixture(scope="module", params=["local", "ray"])
def planted(request: pytest.FixtureRequest) -> Iterator[Planted]:
    directory = Path(tempfile.mkdtemp(prefix="ca-"))  # Ray's sockets need a short path
    (directory / "debug").mkdir()
    (directory / "debug" / "sitecustomize.py").write_text(LOGS_EVERYTHING)
    alice = KeyStore(keys_dir(directory / "state")).add("alice", "client")
    for name in ("home", "ray"):
        (directory / name).mkdir(mode=0o700)
    for path, content in (
        (directory / "api-keys", API_KEY),
        (directory / "home" / "credentials.json", json.dumps({"cloud_key": CLOUD_KEY})),
    ):
        path.touch(mode=0o600)
        path.write_text(content)
    environment: dict[str, str | None] = {
        "CACTUS_HOME": str(directory / "home"),
        "RAY_TMPDIR": str(directory / "ray"),
        "RAY_BACKEND_LOG_LEVEL": "debug",
        "PYTHONPATH": f"{directory / 'debug'}:{os.environ.get('PYTHONPATH', '')}",
        "RAY_AUTH_MODE": None,  # those of the cluster that other tests of this process use
        "RAY_AUTH_TOKEN_PATH": None,
    }
    options = ["--placement", request.param, "--curve", "--api-key-file", str(directory / "api-keys")]
    try:
        with telling_cloud() as url:
            config = directory / "config.toml"
            config.write_text(f'[handoff]\nbase_url = "{url}"\nmax_retries = 0\nrequire_key = true\n')
            with serving(directory, *options, "--config", str(config), environment=environment) as service:
                yield Planted(directory, directory / "ray", service, alice)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def everything_seen(planted: Planted) -> Iterator[tuple[str, bytes]]:
    """(place, content) of every file that the service could write, and of how each process was started."""
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            with suppress(OSError):
                yield f"{process}/{name}", (process / name).read_bytes()
    for path in planted.directory.rglob("*"):
        with suppress(OSError):
            if path.is_file():
                yield str(path), path.read_bytes()
    yield "answers", "\n".join(planted.answers).encode()


def places_of_secrets(planted: Planted) -> set[tuple[str, str]]:
    """(secret, place) of every secret that was found."""
    secrets = planted.secrets()
    return {
        (name, place)
        for place, content in everything_seen(planted)
        for name, secret in secrets.items()
        if secret.encode() in content
    }


def do_usual_work(planted: Planted) -> None:
    with planted.client() as client:
        assert client.complete("Hello", max_tokens=4).success
        handed = [client.complete("Which city?", **UNSURE).handoff for _ in range(5)]
        planted.answers += [repr(each) for each in handed]
        planted.answers += [repr(client.status()), repr(client), str(vars(client))]
    assert {each.status for each in handed} >= {"failed", "completed"}, handed
    body = {"prompt": "Hello", "max_tokens": 3}
    assert planted.ask("POST", "/v1/completions", json=body).status_code == 200
    line = {"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": body}
    uploaded = planted.ask(
        "POST",
        "/v1/files",
        files={"file": ("lines.jsonl", json.dumps(line).encode())},
        data={"purpose": "batch"},
    ).json()
    batch = planted.ask(
        "POST",
        "/v1/batches",
        json={"input_file_id": uploaded["id"], "endpoint": "/v1/completions", "completion_window": "24h"},
    ).json()
    for _ in range(1200):
        found = planted.ask("GET", f"/v1/batches/{batch['id']}").json()
        if found["status"] == "completed":
            break
        threading.Event().wait(0.1)
    assert found["status"] == "completed"
    (planted.directory / "prompts.jsonl").write_text('{"custom_id": "1", "body": {"prompt": "Hi", "max_tokens": 2}}\n')
    planted.run_cactus(
        "batch", planted.directory / "prompts.jsonl", "-o", planted.directory / "results.jsonl",
        "--endpoint", planted.service.jobs, "--stream-endpoint", planted.service.stream,
        "--key-file", planted.alice,
    )  # fmt: skip
    assert planted.ask("GET", "/metrics").status_code == 200


def provoke_failures(planted: Planted) -> None:
    service = planted.service
    for headers in ({"authorization": f"Basic {API_KEY}"}, {"authorization": f"Bearer {API_KEY}x"}):
        assert planted.ask("POST", "/v1/completions", json={"prompt": "x"}, headers=headers).status_code == 401
    for broken in (b"{", API_KEY.encode()):
        sent = {"content": broken, "headers": {"content-type": "application/json"}}
        assert planted.ask("POST", "/v1/completions", **sent).status_code == 400
    assert planted.ask("GET", "/nowhere").status_code == 404
    assert planted.ask("POST", "/v1/completions", json={"prompt": 5}).status_code == 400
    damaged = planted.directory / "damaged"
    for content in (
        planted.alice.read_bytes()[:-40],
        planted.alice.read_bytes().replace(b'"name"', b'"nam"'),
    ):
        damaged.touch(mode=0o600)
        damaged.write_bytes(content)
        planted.run_cactus("status", "--endpoint", service.jobs, "--key-file", damaged)
        with pytest.raises(CactusError) as refused:
            Client(service.jobs, service.stream, key_file=damaged)
        planted.answers.append(repr(refused.value))
    damaged.unlink()
    planted.alice.chmod(0o644)
    planted.run_cactus("status", "--endpoint", service.jobs, "--key-file", planted.alice)
    planted.alice.chmod(0o600)
    credentials = planted.home / "credentials.json"
    whole = credentials.read_bytes()
    for content in (whole[:-2], whole.replace(b"cloud_key", b"clowd_key"), whole + b"\xff"):
        credentials.write_bytes(content)
        planted.run_cactus("auth", "--show")
        with planted.client() as client:
            planted.answers.append(repr(client.complete("Which city?", **UNSURE).handoff))
    credentials.write_bytes(whole)
    planted.run_cactus("auth", "--show")
    bad_keys = planted.directory / "bad-keys"
    bad_keys.touch(mode=0o600)
    bad_keys.write_bytes(API_KEY.encode() + b"\n\xff\n")
    planted.run_cactus("serve", "--state-dir", planted.directory / "other", "--api-key-file", bad_keys)
    bad_keys.unlink()
    for title in ("HandoffActor", "GatewayActor", "RouterActor"):
        for pid in service.pids(title):
            os.kill(pid, 9)
    for _ in range(300):
        with suppress(httpx.HTTPError):
            if planted.ask("POST", "/v1/completions", json={"prompt": "x", "max_tokens": 1}).status_code == 200:
                return
        threading.Event().wait(0.1)
    raise AssertionError("the service did not come back")


@pytest.mark.chaos
def test_secrets_appear_only_in_their_own_files(planted: Planted) -> None:
    do_usual_work(planted)
    provoke_failures(planted)
    do_usual_work_of_a_restarted_service(planted)

    state = planted.directory / "state"
    own_files = {
        ("the cloud key", str(planted.home / "credentials.json")),
        ("the API key", str(planted.directory / "api-keys")),
        ("the service's own key", str(keys_dir(state) / "server.key")),
        *((name, str(state / "ray-token")) for name in planted.ray_token()),
        *((path.name, str(path)) for path in keys_dir(state).glob("*.client.key")),
    }
    assert len(own_files) == 6 + len(planted.ray_token())  # alice's, the workers' and the gateway's
    assert places_of_secrets(planted) == own_files
    assert {Path(place).stat().st_mode & 0o777 for _, place in own_files} == {0o600}

    seen = dict(everything_seen(planted))  # the search covered the intended files
    log_files = (str(planted.ray_directory), str(planted.directory / "service.log"))
    logs = b"".join(content for place, content in seen.items() if place.startswith(log_files))
    assert b"DEBUG:" in logs
    assert any(b"HandoffActor" in content for place, content in seen.items() if place.endswith("/cmdline"))
    for name in ("jobs.jsonl", "results.jsonl", "service.log"):
        assert any(place.endswith(name) for place in seen), name
    assert any("/state/journal/" in place for place in seen)
    assert any("/state/http/" in place for place in seen)


def do_usual_work_of_a_restarted_service(planted: Planted) -> None:
    with planted.client() as client:
        assert client.complete("Hello again", max_tokens=4).success
        planted.answers.append(repr(client.complete("Which city?", **UNSURE).handoff))

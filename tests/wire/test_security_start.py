"""Services that refuse to start because they would be open, and files that are refused for their permissions."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cactus_actors import Client
from cactus_actors.config import RouterSettings, ServeConfig
from cactus_actors.config_reading import make_config
from cactus_actors.keys.exposure import is_private
from cactus_actors.keys.key_file import KEY_FILE_VARIABLE, find_credentials, read_key_file
from cactus_actors.keys.key_store import KeyStore, keys_dir
from cactus_actors.placement.ray.ray_environment import check_token, make_token
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.actor import RouterActor
from cactus_actors.service.service_keys import GATEWAY_KEY, WORKER_KEY, service_keys
from tests.support.router.letter_model import LetterModel
from tests.support.router.running_router import LOOPBACK

OPEN_ENDPOINTS = [
    "tcp://0.0.0.0:*",
    "tcp://*:*",
    "tcp://[::]:*",
    "tcp://192.0.2.7:*",
    "tcp://eth0:*",
    "ipc://@abstract",
    "ipc:///tmp/cactus-socket",
]


def refusal_of(actor: RouterActor) -> str:
    """The reason why it does not start; a service that starts is stopped again."""
    try:
        actor.start()
    except ConfigurationInvalid as refusal:
        return refusal.message
    actor.stop()
    actor.run()
    return "it starts"


@pytest.mark.parametrize("endpoint", OPEN_ENDPOINTS)
@pytest.mark.parametrize("name", [*LOOPBACK])
def test_no_socket_is_open_to_others_without_keys(name: str, endpoint: str) -> None:
    actor = RouterActor(RouterSettings(**{**LOOPBACK, name: endpoint}), LetterModel())
    refusal = refusal_of(actor)
    assert endpoint in refusal
    assert "reach" in refusal  # that others could connect; not that it cannot be bound here


def test_the_refusal_contains_instructions() -> None:
    with pytest.raises(ConfigurationInvalid) as raised:
        service_keys(ServeConfig(jobs_endpoint="tcp://0.0.0.0:5555"))
    assert "--curve" in raised.value.message
    assert "cactus keys new" in raised.value.message


def test_the_command_line_refuses_before_anything_starts(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "cactus_actors.cli.main",
        "serve",
        "--state-dir",
        str(tmp_path / "state"),
    ]
    serve = subprocess.run(
        [*command, "--workers-endpoint", "tcp://0.0.0.0:5557", "--no-http"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert serve.returncode == 2
    assert serve.stdout == ""
    assert serve.stderr.startswith("error: tcp://0.0.0.0:5557 can be reached from other machines")
    assert not (tmp_path / "state").exists()


def test_loopback_endpoints_are_recognised(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    for endpoint in (
        "tcp://127.0.0.1:5555",
        "tcp://127.8.8.8:*",
        "tcp://[::1]:5",
        f"ipc://{own}/s",
        "inproc://x",
    ):
        assert is_private(endpoint), endpoint
    own.chmod(0o711)
    for endpoint in (
        *OPEN_ENDPOINTS,
        f"ipc://{own}/s",
        f"ipc://{own}/none/s",
        "tcp://127.0.0.1.example:1",
        "",
    ):
        assert not is_private(endpoint), endpoint


def test_a_public_endpoint_needs_at_least_one_client_key(tmp_path: Path) -> None:
    config = ServeConfig(jobs_endpoint="tcp://0.0.0.0:*", curve=True, state_dir=tmp_path)
    with pytest.raises(ConfigurationInvalid, match="none has a key"):
        service_keys(config)
    KeyStore(keys_dir(tmp_path)).add("alice", "client")
    assert service_keys(config).directory == str(tmp_path / "keys")


def test_a_service_creates_its_actors_keys_once(tmp_path: Path) -> None:
    config = make_config({"curve": True, "state_dir": str(tmp_path)})
    first, second = service_keys(config), service_keys(config)
    assert first == second
    known = {key.name: key for key in KeyStore(tmp_path / "keys").known()}
    assert known[WORKER_KEY].role == "worker"
    assert known[GATEWAY_KEY].role == "client"
    assert first.worker is not None
    assert first.gateway is not None
    assert read_key_file(Path(first.worker)).pair.public == known[WORKER_KEY].public_key

    KeyStore(tmp_path / "keys").revoke(WORKER_KEY)
    renewed = service_keys(config)
    assert read_key_file(Path(renewed.worker or "")).pair.public != known[WORKER_KEY].public_key
    assert service_keys(make_config({"state_dir": str(tmp_path)})).directory is None


def test_secret_files_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        state_dir = tmp_path / "state"
        store = KeyStore(keys_dir(state_dir))
        store.add("alice", "client")
        store.add("bob", "client", path=tmp_path / "bob.key")
        store.revoke("bob")
    finally:
        os.umask(before)
    for directory in (state_dir, state_dir / "keys"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    secrets = [path for path in (state_dir / "keys").iterdir() if path.name != "lock"]
    assert {path.name for path in secrets} == {"server.key", "known.json", "alice.client.key"}
    for path in (*secrets, tmp_path / "bob.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    public = (state_dir / "keys" / "known.json").read_text()
    assert read_key_file(store.path_of("alice")).pair.reveal() not in public


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = KeyStore(tmp_path / "keys").add("alice", "client")
    path.chmod(mode)
    with pytest.raises(ConfigurationInvalid, match="chmod 600"):
        Client(key_file=path)


def test_a_server_key_that_others_can_read_prevents_the_start(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys")
    store.make_server_pair()
    (store.directory / "server.key").chmod(0o644)
    actor = RouterActor(RouterSettings(**{**LOOPBACK, "keys_dir": str(store.directory)}), LetterModel())
    with pytest.raises(ConfigurationInvalid, match="chmod 600"):
        actor.start()


def _with(changes: dict[str, Any], path: Path) -> bytes:
    return json.dumps({**json.loads(path.read_bytes()), **changes}).encode()


def test_invalid_key_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = KeyStore(tmp_path / "keys").add("alice", "client")
    secret = read_key_file(good).pair.reveal()
    bad = tmp_path / "bad.key"
    bad.touch(mode=0o600)
    contents = [
        b"",
        b"\xff\xfe",
        b"[]",
        good.read_bytes()[:-30],
        _with({"secret_key": "short"}, good),
        _with({"secret_key": secret[::-1]}, good),
        _with({"server_key": "é" * 40}, good),
        _with({"public_key": "0" * 40}, good),
        _with({"role": "king"}, good),
    ]
    for content in contents:
        bad.write_bytes(content)
        with pytest.raises(ConfigurationInvalid) as raised:
            read_key_file(bad)
        assert secret not in raised.value.message
    for path in (tmp_path, tmp_path / "none.key"):
        with pytest.raises(ConfigurationInvalid, match=str(path)):
            read_key_file(path)
    link = tmp_path / "link.key"
    link.symlink_to(good)
    with pytest.raises(ConfigurationInvalid, match=r"link\.key is a symbolic link"):
        read_key_file(link)
    monkeypatch.setenv(KEY_FILE_VARIABLE, str(good))
    found = find_credentials(None)
    assert found is not None
    assert found.name == "alice"
    assert find_credentials("") is None
    monkeypatch.delenv(KEY_FILE_VARIABLE)
    assert find_credentials(None) is None


def test_key_names_cannot_leave_the_store(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys")
    for name in ("", "../x", "a/b", ".hidden", "a\nb", "x" * 65, "naïve"):
        with pytest.raises(ConfigurationInvalid):
            store.add(name, "client")
        with pytest.raises(ConfigurationInvalid):
            store.add("alice", "client", name)
    assert not tmp_path.joinpath("keys").exists()


def test_a_key_of_an_existing_name_is_not_overwritten(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys")
    store.add("alice", "client")
    with pytest.raises(ConfigurationInvalid, match="there is a key named alice"):
        store.add("alice", "operator")
    taken = tmp_path / "taken"
    taken.write_text("precious")
    with pytest.raises(ConfigurationInvalid, match="exists"):
        store.add("bob", "client", path=taken)
    assert taken.read_text() == "precious"
    assert [key.name for key in store.known()] == ["alice"]
    with pytest.raises(ConfigurationInvalid, match="no key is named bob"):
        store.revoke("bob")


def test_ray_gets_a_private_token(tmp_path: Path) -> None:
    environment: dict[str, str] = {}
    make_token(tmp_path / "state", environment)
    token = Path(environment["RAY_AUTH_TOKEN_PATH"])
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert len(token.read_text()) >= 32
    with pytest.raises(ConfigurationInvalid, match="RAY_AUTH_MODE must be token"):
        check_token({name: value for name, value in environment.items() if name != "RAY_AUTH_MODE"})
    check_token(environment)
    with pytest.raises(ConfigurationInvalid, match="RAY_AUTH_MODE=disabled"):
        make_token(tmp_path / "state", {"RAY_AUTH_MODE": "disabled"})
    token.chmod(0o644)
    for check in (check_token, lambda environment: make_token(tmp_path, environment)):
        with pytest.raises(ConfigurationInvalid, match="chmod 600"):
            check({**environment, "RAY_AUTH_MODE": "token"})

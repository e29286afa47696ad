"""`cactus keys` as users type it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cactus_actors.cli.main import app
from cactus_actors.keys.key_file import find_credentials, read_key_file
from cactus_actors.keys.key_store import KeyStore
from cactus_actors.keys.private_file import write_private
from cactus_actors.protocol.errors import ConfigurationInvalid


def run(state_dir: Path, *words: str) -> Result:
    done = CliRunner().invoke(app, ["keys", *words, "--state-dir", str(state_dir)])
    if isinstance(done.exception, ConfigurationInvalid):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done


def test_a_key_is_created_listed_and_revoked(tmp_path: Path) -> None:
    assert "no keys" in run(tmp_path, "list").output
    public = run(tmp_path, "server").output.strip()
    assert run(tmp_path, "server").output.strip() == public
    made = run(tmp_path, "new", "alice", "--tenant", "research").output
    path = KeyStore(tmp_path / "keys").path_of("alice")
    assert str(path) in made
    assert "CACTUS_KEY_FILE" in made
    credentials = read_key_file(path)
    assert credentials.server_key == public
    [shown] = json.loads(run(tmp_path, "list", "--json").output)
    assert (shown["name"], shown["role"], shown["tenant"]) == ("alice", "client", "research")
    assert shown["public_key"] == credentials.pair.public
    assert credentials.pair.public in run(tmp_path, "list").output
    run(tmp_path, "revoke", "alice")
    assert not path.exists()
    assert json.loads(run(tmp_path, "list", "--json").output) == []


def test_a_key_has_a_weight(tmp_path: Path) -> None:
    run(tmp_path, "new", "heavy", "--weight", "3")
    run(tmp_path, "new", "light")
    shown = json.loads(run(tmp_path, "list", "--json").output)
    assert {key["name"]: key["weight"] for key in shown} == {"heavy": 3, "light": 1}
    headings, *rows = (line.split() for line in run(tmp_path, "list").output.splitlines())
    assert headings == ["name", "role", "tenant", "weight", "cloud", "created", "public", "key"]
    assert [row[:4] for row in rows] == [["heavy", "client", "heavy", "3"], ["light", "client", "light", "1"]]


def test_a_key_can_exclude_the_cloud(tmp_path: Path) -> None:
    run(tmp_path, "new", "never", "--no-cloud")
    run(tmp_path, "new", "other")
    shown = json.loads(run(tmp_path, "list", "--json").output)
    assert {key["name"]: key["allow_cloud"] for key in shown} == {"never": False, "other": True}
    _, *rows = (line.split() for line in run(tmp_path, "list").output.splitlines())
    assert {row[0]: row[4] for row in rows} == {"never": "never", "other": "allowed"}


def test_keys_without_a_weight_are_accepted(tmp_path: Path) -> None:
    run(tmp_path, "new", "alice")
    store = KeyStore(tmp_path / "keys")
    file = json.loads(store.known_path.read_text())
    del file["keys"][0]["weight"], file["keys"][0]["allow_cloud"]
    write_private(store.known_path, json.dumps(file).encode())
    [key] = store.known()
    assert (key.name, key.weight, key.allow_cloud) == ("alice", 1, True)


@pytest.mark.parametrize("role", ["client", "worker", "operator"])
def test_a_key_file_is_written_to_the_given_path(tmp_path: Path, role: str) -> None:
    path = tmp_path / "elsewhere.key"
    run(tmp_path / "state", "new", "bob", "--role", role, "-o", str(path))
    assert read_key_file(path).name == "bob"
    [key] = KeyStore(tmp_path / "state" / "keys").known()
    assert (key.role, key.tenant) == (role, "bob")
    assert not KeyStore(tmp_path / "state" / "keys").path_of("bob").exists()


def test_a_damaged_key_file_is_named_without_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "alice.key"
    run(tmp_path / "state", "new", "alice", "-o", str(path))
    secret = read_key_file(path).pair.reveal()
    path.write_text(path.read_text().replace(secret, secret[:-1]))
    with pytest.raises(ConfigurationInvalid, match=r"alice.key: secret_key: a CURVE key is 40") as refused:
        read_key_file(path)
    assert secret[:-1] not in str(refused.value)
    path.unlink()
    monkeypatch.setenv("CACTUS_KEY_FILE", str(path))
    for given in (path, None):
        with pytest.raises(ConfigurationInvalid, match=r"alice\.key cannot be read: No such file") as refused:
            find_credentials(given)
        assert "(the key file of key_file, --key-file or CACTUS_KEY_FILE)" in refused.value.message


def test_no_secret_is_printed(tmp_path: Path) -> None:
    outputs = [run(tmp_path, *words).output for words in (("new", "alice"), ("list",), ("server",))]
    store = KeyStore(tmp_path / "keys")
    for pair in (read_key_file(store.path_of("alice")).pair, store.server_pair()):
        assert all(pair.reveal() not in output for output in outputs)
        assert pair.reveal() not in f"{pair!r} {pair}"


def test_invalid_arguments_are_explained(tmp_path: Path) -> None:
    run(tmp_path, "new", "alice")
    for words, said in {
        ("new", "alice"): "there is a key named alice",
        ("new", "a b"): "a key's name is",
        ("new", "bob", "--tenant", ""): "a tenant is",
        ("new", "bob", "--weight", "0"): "a weight is 1 to 1000, got 0",
        ("new", "bob", "--weight", "1001"): "a weight is 1 to 1000, got 1001",
        ("new", "bob", "--role", "worker", "--weight", "2"): "do not apply to worker keys, which submit no jobs",
        ("new", "bob", "--role", "worker", "--no-cloud"): "do not apply to worker keys, which submit no jobs",
        ("revoke", "bob"): "no key is named bob",
    }.items():
        with pytest.raises(ConfigurationInvalid, match=said):
            run(tmp_path, *words)
    assert CliRunner().invoke(app, ["keys", "new", "bob", "--role", "king"]).exit_code == 2

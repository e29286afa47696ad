"""The key: its source, the permissions of its file, and its absence from all output."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path

import pytest

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.cloud_access import CloudAccess, check_base_url, read_cloud_access
from cactus_actors.handoff.cloud_key import (
    CloudKey,
    credentials_path,
    forget_cloud_key,
    load_cloud_key,
    store_cloud_key,
)
from cactus_actors.protocol.errors import ConfigurationInvalid

SECRET = "sk-planted-0123456789"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"CACTUS_HOME": str(tmp_path / "home")}


def test_a_stored_key_is_private_and_can_be_deleted(home: dict[str, str]) -> None:
    assert load_cloud_key(home) is None
    path = store_cloud_key(CloudKey("old"), home)
    assert store_cloud_key(CloudKey(SECRET), home) == path == credentials_path(home)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["credentials.json"]
    key = load_cloud_key(home)
    assert key is not None
    assert key.reveal() == SECRET
    assert forget_cloud_key(home)
    assert not forget_cloud_key(home)
    assert load_cloud_key(home) is None


def test_the_environment_overrides_the_file(home: dict[str, str]) -> None:
    store_cloud_key(CloudKey("from-file"), home)
    key = load_cloud_key(home | {"CACTUS_CLOUD_KEY": f" {SECRET}\n"})
    assert key is not None
    assert key.reveal() == SECRET


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_that_others_can_read_is_refused(home: dict[str, str], mode: int) -> None:
    path = store_cloud_key(CloudKey(SECRET), home)
    path.chmod(mode)
    with pytest.raises(ConfigurationInvalid, match="open to others") as caught:
        load_cloud_key(home)
    assert str(path) in caught.value.message
    assert SECRET not in caught.value.message


@pytest.mark.parametrize("content", [b"", SECRET.encode(), b'{"cloud_key": 5}', b"\xff", b'{"cloud_key":"a b"}'])
def test_a_broken_file_is_refused_without_quoting_it(home: dict[str, str], content: bytes) -> None:
    store_cloud_key(CloudKey(SECRET), home).write_bytes(content)
    with pytest.raises(ConfigurationInvalid) as caught:
        load_cloud_key(home)
    assert SECRET not in str(caught.value)


def test_a_key_that_no_header_holds_is_refused() -> None:
    with pytest.raises(ConfigurationInvalid, match="at most 16384 characters"):
        CloudKey("k" * 20_000)


def test_a_link_is_not_followed(home: dict[str, str], tmp_path: Path) -> None:
    path = store_cloud_key(CloudKey(SECRET), home)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationInvalid):
        load_cloud_key(home)


def test_a_key_is_not_shown_in_logs_or_representations(caplog: pytest.LogCaptureFixture) -> None:
    key = CloudKey(SECRET)
    logging.getLogger("test").warning("%s %r %s", key, key, CloudAccess(key=key))
    assert SECRET not in caplog.text
    assert SECRET not in f"{key!r} {key} {[key]} {CloudAccess(key=key)}"
    with pytest.raises(TypeError):
        pickle.dumps(key)
    assert key.redact(f"you sent Bearer {SECRET}!") == "you sent Bearer ***!"


@pytest.mark.parametrize(
    ("settings", "environment", "refusal"),
    [
        (HandoffSettings(), {}, "no key"),
        (HandoffSettings(), {"CACTUS_CLOUD_KEY": SECRET}, None),
        (HandoffSettings(), {"CACTUS_CLOUD_KEY": SECRET, "CACTUS_DISABLE_CLOUD_HANDOFF": "1"}, "disabled"),
        (HandoffSettings(base_url="http://127.0.0.1:9/v1"), {}, None),
        (HandoffSettings(base_url="http://[::1]:9/v1"), {}, None),
        (HandoffSettings(base_url="http://localhost:9/v1", require_key=True), {}, "no key"),
        (HandoffSettings(base_url="http://gpu-box:8000/v1", require_key=False), {}, None),
        (
            HandoffSettings(base_url="http://gpu-box:8000/v1"),
            {"CACTUS_CLOUD_KEY": SECRET},
            "a key is not sent to gpu-box without TLS",
        ),
    ],
)
def test_the_settings_decide_whether_the_cloud_may_be_used(
    home: dict[str, str], settings: HandoffSettings, environment: dict[str, str], refusal: str | None
) -> None:
    assert read_cloud_access(settings, home | environment).refusal == refusal


@pytest.mark.parametrize("url", ["", "api.openai.com/v1", "ftp://x/v1", "https://", "https://u:p@x/v1", "http://x:y"])
def test_an_invalid_base_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationInvalid) as caught:
        check_base_url(url)
    assert caught.value.param == "handoff.base_url"

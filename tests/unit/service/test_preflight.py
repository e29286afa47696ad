"""Errors of a configuration are reported before anything is made or placed."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
import trustme

from cactus_actors.config import HandoffSettings, ServeConfig
from cactus_actors.config_reading import make_config
from cactus_actors.handoff.settings_check import plain_text_warning
from cactus_actors.models import hub
from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.errors import ConfigurationInvalid, ModelFileInvalid
from cactus_actors.protocol.model_overrides import ModelOverrides
from cactus_actors.service.actor_settings import has_draft_head, max_drafts_of
from cactus_actors.service.model_check import CheckedModel, check_model
from cactus_actors.service.preflight import check_settings
from cactus_actors.service.service import Service


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def write_pair(directory: Path, authority: trustme.CA, **validity: Any) -> tuple[Path, Path]:
    issued = authority.issue_cert("127.0.0.1", **validity)
    certificate, key = directory / "chain.pem", directory / "key.pem"
    certificate.write_bytes(issued.cert_chain_pems[0].bytes())
    key.write_bytes(issued.private_key_pem.bytes())
    return certificate, key


def refusal_of(**settings: object) -> str:
    with pytest.raises(ConfigurationInvalid) as refused:
        check_settings(make_config(settings), {})
    assert "Errno" not in refused.value.message
    return refused.value.message


@pytest.mark.parametrize("endpoint", ["foo", "tcp://foo", "tcp://:5", "tcp://a:65536", "ipc://", "udp://a:1", ""])
@pytest.mark.parametrize("name", ["jobs_endpoint", "stream_endpoint", "workers_endpoint"])
def test_an_invalid_endpoint_is_named_with_its_option(name: str, endpoint: str) -> None:
    message = refusal_of(**{name: endpoint})
    assert message.startswith(f"--{name.replace('_', '-')}: {endpoint!r} is not an endpoint")
    assert "--curve" not in message


def test_valid_endpoints_are_accepted() -> None:
    for endpoint in ("tcp://127.0.0.1:5555", "tcp://localhost:*", "tcp://[::1]:0"):
        assert check_settings(ServeConfig(jobs_endpoint=endpoint), {}) == {}


@pytest.mark.parametrize(
    ("handoff", "words"),
    [
        ({"budgets": [{"max_cost": 1.0}]}, "a handoff budget with max_cost needs prompt_price and completion_price"),
        ({"prompt_price": 1.0}, "handoff completion_price is missing"),
        ({"base_url": "ftp://cloud.example"}, "handoff base_url must be http(s)://host/path without a user name"),
    ],
)
def test_invalid_handoff_settings_are_refused(handoff: dict[str, object], words: str, tmp_path: Path) -> None:
    settings = {"handoff": handoff, "state_dir": str(tmp_path / "state"), "http": ""}
    assert refusal_of(**settings) == words
    lines: list[str] = []
    with pytest.raises(ConfigurationInvalid):
        Service(make_config(settings), announce=lines.append).start()
    assert lines == []
    assert not (tmp_path / "state").exists()


def test_a_cloud_without_tls_causes_a_warning() -> None:
    for url in ("https://cloud.example/v1", "http://127.0.0.1:8000/v1", "http://localhost/v1"):
        assert plain_text_warning(HandoffSettings(base_url=url)) is None
    warning = plain_text_warning(HandoffSettings(base_url="http://cloud.example/v1"))
    assert warning is not None
    assert "http://cloud.example/v1 has no TLS: keys and prompts would go there in plain text" in warning


def test_unreadable_files_are_named_with_their_option(tmp_path: Path) -> None:
    missing = str(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert refusal_of(api_key_file=missing) == (f"--api-key-file: {missing} cannot be read: No such file or directory")
    assert "UTF-8" in refusal_of(api_key_file=str(tmp_path / "bytes"))
    assert refusal_of(corpus=missing) == f"--corpus: {missing} is not a directory"
    (tmp_path / "empty").write_text("# none\n")
    assert refusal_of(api_key_file=str(tmp_path / "empty")) == f"--api-key-file: {tmp_path / 'empty'} holds no API key"
    (tmp_path / "short").write_text("12345\n")
    reason = "an API key has at least 8 characters"
    assert refusal_of(api_key_file=str(tmp_path / "short")) == f"--api-key-file: {tmp_path / 'short'}: {reason}"
    with pytest.raises(ConfigurationInvalid, match=f"^CACTUS_API_KEYS: {reason}$"):
        check_settings(make_config({}), {"CACTUS_API_KEYS": "12345"})
    worker_key = refusal_of(curve=True, state_dir=str(tmp_path), worker_key_file=missing)
    assert worker_key == f"--worker-key-file: {missing} cannot be read: No such file or directory"
    assert not (tmp_path / "keys").exists()
    assert "--http: 'here' is not HOST:PORT" in refusal_of(http="here")


def test_a_certificate_must_match_its_key(tmp_path: Path, authority: trustme.CA) -> None:
    certificate, key = write_pair(tmp_path, authority)
    config = ServeConfig(tls_cert=certificate, tls_key=key)
    assert check_settings(config, {}) == {}
    assert "--tls-key is missing" in refusal_of(tls_cert=str(certificate))
    missing = str(tmp_path / "none")
    assert f"--tls-cert: {missing} cannot be read" in refusal_of(tls_cert=missing, tls_key=str(key))
    assert f"--tls-key: {missing} cannot be read" in refusal_of(tls_cert=str(certificate), tls_key=missing)
    key.write_bytes(authority.issue_cert("127.0.0.1").private_key_pem.bytes())
    assert "key values mismatch" in refusal_of(tls_cert=str(certificate), tls_key=str(key))
    key.write_text("no key")
    assert "not in PEM" in refusal_of(tls_cert=str(certificate), tls_key=str(key))


def test_an_expired_or_future_certificate_is_refused(tmp_path: Path, authority: trustme.CA) -> None:
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    certificate, key = write_pair(tmp_path, authority, not_before=now - 2 * day, not_after=now - day)
    files = {"tls_cert": str(certificate), "tls_key": str(key)}
    assert refusal_of(**files) == f"--tls-cert: the certificate in {certificate} has expired"
    write_pair(tmp_path, authority, not_before=now + day, not_after=now + 2 * day)
    assert refusal_of(**files) == f"--tls-cert: the certificate in {certificate} is not valid yet"


def test_a_model_is_checked_before_any_actor_starts(tmp_path: Path) -> None:
    embedded = resolve_model("cactus-sprout")
    assert check_model(embedded) == CheckedModel("cactus-sprout")
    with pytest.raises(ConfigurationInvalid, match="tool_format must be one of"):
        check_model(embedded, ModelOverrides(tool_format="none"))
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in embedded.iterdir():
        (copy / file.name).symlink_to(file)
    config = json.loads((embedded / "config.json").read_text())
    (copy / "config.json").unlink()
    (copy / "config.json").write_text(json.dumps(config | {"architectures": ["OtherForCausalLM"]}))
    lines: list[str] = []
    settings = {"jobs_endpoint": "tcp://127.0.0.1:*", "stream_endpoint": "tcp://127.0.0.1:*", "http": ""}
    service = Service(
        make_config(settings, {"model": str(copy), "state_dir": str(tmp_path / "state")}),
        announce=lines.append,
    )
    with pytest.raises(ModelFileInvalid, match=r"OtherForCausalLM.*see `cactus models`"):
        service.start()
    assert lines == []  # such as of a worker that starts


def test_drafts_of_a_head_are_refused_for_a_model_without_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="no head for drafts") as caught:
        check_model(resolve_model("cactus-sprout"), drafts=True)
    assert caught.value.param == "speculation"
    settings = {"jobs_endpoint": "tcp://127.0.0.1:*", "stream_endpoint": "tcp://127.0.0.1:*", "http": ""}
    lines: list[str] = []
    service = Service(make_config(settings, {"speculation": "mtp", "state_dir": str(tmp_path)}), announce=lines.append)
    with pytest.raises(ConfigurationInvalid, match="no head for drafts"):
        service.start()
    assert lines == []


@pytest.mark.parametrize(
    ("speculation", "max_drafts", "draft_head"), [(0, 0, False), (5, 5, False), ("mtp", 3, True), ("mtp:2", 2, True)]
)
def test_workers_get_the_number_of_drafts_and_their_source(
    speculation: int | str, max_drafts: int, draft_head: bool
) -> None:
    config = make_config({"speculation": speculation})
    assert (max_drafts_of(config), has_draft_head(config)) == (max_drafts, draft_head)


def test_an_unsupported_gguf_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(b"GGUF\x03")
    with pytest.raises(ModelFileInvalid, match=r"cut\.gguf"):
        check_model(tmp_path / "cut.gguf")


def test_a_missing_model_is_named_as_given() -> None:
    with pytest.raises(ModelFileInvalid, match=r"^\./nope: no such file"):
        resolve_model("./nope")


def test_an_unreachable_hub_is_explained_without_error_numbers() -> None:
    for error in (OSError(-2, "Name or service not known"), OSError("[Errno -2] Name or service not known")):
        assert hub.cause_of(error).startswith("its name cannot be resolved")
    assert hub.cause_of(OSError(111, "Connection refused")) == "Connection refused"

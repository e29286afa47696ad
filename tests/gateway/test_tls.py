"""TLS at the gateway: a renewed certificate, and invalid files."""

from __future__ import annotations

import hashlib
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import trustme

from cactus_actors.gateway.http.tls import ServedCertificate
from cactus_actors.protocol.errors import ConfigurationInvalid
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import STORY, FakeWorkerService, fake_worker_service

CHAT = {"messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def served(tmp_path: Path, authority: trustme.CA) -> Iterator[FakeWorkerService]:
    write_certificate(tmp_path, authority)
    verify = ssl.create_default_context()
    authority.configure_trust(verify)
    gateway = {"tls_cert": str(tmp_path / "chain.pem"), "tls_key": str(tmp_path / "key.pem")}
    with fake_worker_service(tmp_path / "state", gateway=gateway, verify=verify) as service:
        yield service


def write_certificate(directory: Path, authority: trustme.CA) -> None:
    """Write a new pair for loopback; each file is renamed into its place."""
    issued = authority.issue_cert("127.0.0.1")
    for name, content in (
        ("key.pem", issued.private_key_pem.bytes()),
        ("chain.pem", b"".join(blob.bytes() for blob in issued.cert_chain_pems)),
    ):
        (directory / f"{name}.new").write_bytes(content)
        (directory / f"{name}.new").rename(directory / name)


def fingerprint_of(service: FakeWorkerService) -> str:
    """The fingerprint of the certificate that a new connection gets."""
    host, port = service.url.removeprefix("https://").split(":")
    context = service.verify
    assert isinstance(context, ssl.SSLContext)
    with (
        socket.create_connection((host, int(port)), timeout=60) as plain,
        context.wrap_socket(plain, server_hostname=host) as connection,
    ):
        return hashlib.sha256(connection.getpeercert(binary_form=True) or b"").hexdigest()


def test_requests_and_streams_work_over_tls(served: FakeWorkerService) -> None:
    with served.http() as http:
        answer = http.post("/v1/chat/completions", json=CHAT).json()
        assert answer["choices"][0]["message"]["content"] == "".join(STORY)
        with http.stream("POST", "/v1/chat/completions", json=CHAT | {"stream": True}) as stream:
            lines = [line for line in stream.iter_lines() if line]
        assert lines[-1] == "data: [DONE]"


def test_a_page_of_the_service_has_an_https_origin(served: FakeWorkerService) -> None:
    with served.http() as http:
        host = served.url.removeprefix("https://")
        own = http.post("/v1/chat/completions", json=CHAT, headers={"origin": f"https://{host}"})
        assert own.status_code == 200


def test_an_answer_before_the_body_ends_the_connection(served: FakeWorkerService) -> None:
    """TLS has no half-closed connections; the refusal must arrive nevertheless."""
    with served.http() as http:
        refused = http.post("/v1/chat/completions", content=b"x" * 8_000_000)
        assert (refused.status_code, refused.headers["connection"]) == (415, "close")
        assert http.get("/health").status_code == 200


def test_plain_text_is_not_answered(served: FakeWorkerService) -> None:
    with pytest.raises(httpx.TransportError):
        httpx.get(served.url.replace("https", "http") + "/health", timeout=60)
    with served.http() as http:
        assert http.get("/health").status_code == 200


def test_a_certificate_that_is_renewed_is_shown_to_new_connections(
    served: FakeWorkerService, tmp_path: Path, authority: trustme.CA
) -> None:
    certificate = served.gateway._certificate  # type: ignore[union-attr]
    assert certificate is not None
    first = fingerprint_of(served)
    with served.http() as http:
        assert http.get("/health").status_code == 200
        write_certificate(tmp_path, authority)
        until(lambda: fingerprint_of(served) != first)
        assert http.get("/health").status_code == 200  # over the connection that is open
    second = fingerprint_of(served)
    assert second != first

    (tmp_path / "chain.pem").write_bytes(b"half a certif")
    certificate.reload_if_changed()
    assert fingerprint_of(served) == second
    (tmp_path / "chain.pem").unlink()
    certificate.reload_if_changed()
    assert fingerprint_of(served) == second
    write_certificate(tmp_path, authority)
    certificate.reload_if_changed()
    assert fingerprint_of(served) not in (first, second)


def test_files_that_are_not_a_certificate_are_refused(tmp_path: Path, authority: trustme.CA) -> None:
    write_certificate(tmp_path, authority)
    (tmp_path / "empty.pem").touch()
    other = tmp_path / "other.pem"
    other.write_bytes(authority.issue_cert("127.0.0.1").private_key_pem.bytes())
    for certificate, key in (
        ("missing.pem", "key.pem"),
        ("chain.pem", "missing.pem"),
        ("empty.pem", "key.pem"),
        ("chain.pem", "empty.pem"),
        ("chain.pem", "other.pem"),
        (".", "key.pem"),
    ):
        with pytest.raises(ConfigurationInvalid, match=certificate) as caught:
            ServedCertificate(tmp_path / certificate, tmp_path / key)
        assert caught.value.param == "tls_cert"

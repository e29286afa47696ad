"""Checks a certificate chain and its key, as files in PEM, for use with TLS."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from cactus_actors.protocol.errors import ConfigurationInvalid

_DATE_ERRORS = {9: "is not valid yet", 10: "has expired"}
"""By X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED (X509_STORE_CTX_get_error(3))."""
_MAX_FLIGHTS = 10


def check_certificate(certificate: Path | None, key: Path | None) -> None:
    """Raise ConfigurationInvalid, which names the file, for files that TLS cannot use.

    Raises it, too, for a certificate that has expired or is not valid yet: no client would accept it.
    """
    if certificate is None and key is None:
        return
    chain, secret = _readable("--tls-cert", certificate), _readable("--tls-key", key)
    context = server_context(chain, secret)
    if reason := _DATE_ERRORS.get(_verify_code(context, chain)):
        raise _invalid(f"--tls-cert: the certificate in {certificate} {reason}")


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """The TLS context for new connections; raises ConfigurationInvalid for files that do not belong together."""
    try:
        return context_of(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise _invalid(f"TLS: {certificate} and {key} are not a certificate and its key: {reason_of(error)}") from None


def context_of(certificate: Path, key: Path) -> ssl.SSLContext:
    """The TLS context of these files; raises OSError and SSLError."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key, password=_no_password)
    return context


def reason_of(error: OSError) -> str:
    """The reason in words: an SSLError is an OSError whose text names OpenSSL's reason."""
    if isinstance(error, ssl.SSLError):
        if "PEM" in str(error):  # some of these have no reason of their own
            return "they are not in PEM"
        return error.reason.replace("_", " ").lower() if error.reason else str(error.args[-1])
    return f"{error.filename or ''} {error.strerror}".strip()


def _readable(option: str, given: Path | None) -> Path:
    if given is None:
        raise _invalid(f"TLS needs both a certificate and its key: {option} is missing")
    path = given.expanduser()
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError as error:
        raise _invalid(f"{option}: {path} cannot be read: {error.strerror}") from None
    if not path.is_file():
        raise _invalid(f"{option}: {path} is not a file")
    return path


def _verify_code(context: ssl.SSLContext, certificate: Path) -> int:
    """OpenSSL's verification error for a client that trusts this very certificate; 0 for none."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    trusting.load_verify_locations(certificate)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(to_server, to_client, server_side=True)
    client = trusting.wrap_bio(to_client, to_server)
    for _ in range(_MAX_FLIGHTS):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as error:
                return error.verify_code
            except ssl.SSLError:  # about no date
                return 0
    return 0


def _no_password() -> str:
    raise ssl.SSLError("the key is encrypted; a service that starts by itself needs it in plain")


def _invalid(message: str) -> ConfigurationInvalid:
    return ConfigurationInvalid(message, param="tls_cert")

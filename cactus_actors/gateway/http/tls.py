"""The gateway's TLS certificate, reloaded when its files change."""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path

from cactus_actors.config import GatewaySettings
from cactus_actors.gateway.http.certificate import context_of, reason_of, server_context
from cactus_actors.protocol.errors import ConfigurationInvalid

CHECK_EVERY_S = 2.0

_log = logging.getLogger(__name__)


class ServedCertificate:
    """`context` is for new connections; open ones keep their certificate.

    Raises ConfigurationInvalid for files that are not a certificate chain and its key, in PEM.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate = certificate
        self._key = key
        self._seen = self._state()
        self.context = server_context(certificate, key)

    async def follow(self) -> None:
        """Reload the files whenever they have changed, forever; invalid files are ignored."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            self.reload_if_changed()

    def reload_if_changed(self) -> None:
        """Use the present content of the files for new connections."""
        state = self._state()
        if state == self._seen:
            return
        self._seen = state
        try:
            context_of(self._certificate, self._key)  # a half-written pair must not reach the one in use
            self.context.load_cert_chain(self._certificate, self._key)
        except (OSError, ssl.SSLError) as error:
            _log.warning(
                "TLS: the changed certificate %s cannot be loaded, the previous one stays in use: %s",
                self._certificate,
                reason_of(error),
            )
        else:
            _log.warning("TLS: the changed certificate %s is in use", self._certificate)

    def _state(self) -> list[tuple[int, int, int]]:
        """File states that change when a file, or the target of a link, is written or replaced."""
        states = []
        for path in (self._certificate, self._key):
            try:
                found = path.stat()
            except OSError:
                states.append((0, 0, 0))
            else:
                states.append((found.st_ino, found.st_mtime_ns, found.st_size))
        return states


def certificate_of(settings: GatewaySettings) -> ServedCertificate | None:
    """The certificate that settings name, None for plain HTTP; raises ConfigurationInvalid."""
    if settings.tls_cert is None and settings.tls_key is None:
        return None
    if settings.tls_cert is None or settings.tls_key is None:
        raise ConfigurationInvalid("TLS needs both a certificate and its key", param="tls_cert")
    return ServedCertificate(Path(settings.tls_cert).expanduser(), Path(settings.tls_key).expanduser())

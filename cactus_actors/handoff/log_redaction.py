"""Removes the cloud key from logs of the HTTP library, which may contain echoed requests."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from cactus_actors.handoff.cloud_key import CloudKey

# A logger's filters do not apply to its children.
_LOGGERS = tuple(
    logging.getLogger(name)
    for name in (
        "httpx",
        *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
    )
)


class _Redaction(logging.Filter):
    def __init__(self, key: CloudKey) -> None:
        super().__init__()
        self._key = key

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._key.redact(record.getMessage()), ()
        return True


@contextlib.contextmanager
def redacted_logs(key: CloudKey | None) -> Iterator[None]:
    """Mask the key in records of the HTTP library within the context."""
    if key is None:
        yield
        return
    redaction = _Redaction(key)
    for logger in _LOGGERS:
        logger.addFilter(redaction)
    try:
        yield
    finally:
        for logger in _LOGGERS:
            logger.removeFilter(redaction)

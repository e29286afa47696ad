"""The cloud key: its file, and its redaction from logs."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from cactus_actors.config import HandoffSettings
from cactus_actors.keys.private_file import read_private, write_private
from cactus_actors.protocol.errors import ConfigurationInvalid

CLOUD_KEY_VARIABLE = "CACTUS_CLOUD_KEY"
MAX_KEY_LENGTH = 16 * 1024
"""The key is sent in a header, which servers limit further."""
HOME_VARIABLE = "CACTUS_HOME"
_DEFAULTS = HandoffSettings()
_SETTINGS_OF_ROUTER = (
    "confidence_signal",
    "first_gate_tokens",
    "gate",
    "prompt_threshold",
    "prompt_probe_file",
    "probe_file",
    "probability_file",
    "max_share",
    "max_wait_s",
)
# Loggers of the HTTP library, which may log echoed requests; a logger's filters do not apply to its children.
_LOGGERS = tuple(
    logging.getLogger(name)
    for name in (
        "httpx",
        *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
    )
)


class CloudKey:
    """A secret that only `reveal` returns."""

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
            raise ConfigurationInvalid("a cloud key is printable ASCII without spaces")
        if len(secret) > MAX_KEY_LENGTH:
            raise ConfigurationInvalid(f"a cloud key has at most {MAX_KEY_LENGTH} characters, this has {len(secret)}")
        self._secret = secret

    def reveal(self) -> str:
        """The key itself, for the Authorization header only."""
        return self._secret

    def redact(self, text: str) -> str:
        """`text` with every occurrence of the key masked; servers may echo requests."""
        return text.replace(self._secret, "***")

    def __repr__(self) -> str:
        return "CloudKey(***)"

    def __reduce__(self) -> str:
        raise TypeError("a cloud key does not leave its process")


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


class _CredentialsFile(msgspec.Struct, frozen=True):
    cloud_key: str


def credentials_path(environment: Mapping[str, str] = os.environ) -> Path:
    """The file of `cactus auth`: credentials.json in CACTUS_HOME, or in ~/.cactus."""
    return Path(environment.get(HOME_VARIABLE) or "~/.cactus").expanduser() / "credentials.json"


def has_cloud_key(environment: Mapping[str, str] = os.environ) -> bool:
    """True if there is a key or a credentials file; the file is not read."""
    return bool(environment.get(CLOUD_KEY_VARIABLE, "").strip()) or os.path.lexists(credentials_path(environment))


def is_cloud_configured(settings: HandoffSettings, environment: Mapping[str, str]) -> bool:
    """True if there is a cloud key, or any setting of the handoff actor differs from its default.

    The actor decides if they can be used. `cactus auth` may store a key at any time.
    """
    of_router = {name: getattr(settings, name) for name in _SETTINGS_OF_ROUTER}
    return has_cloud_key(environment) or settings != msgspec.structs.replace(_DEFAULTS, **of_router)


def load_cloud_key(environment: Mapping[str, str] = os.environ) -> CloudKey | None:
    """The key from CACTUS_CLOUD_KEY, otherwise from the file, otherwise None.

    Raises ConfigurationInvalid for a file that others can read or that is invalid.
    """
    from_environment = environment.get(CLOUD_KEY_VARIABLE, "").strip()
    if from_environment:
        return CloudKey(from_environment)
    path = credentials_path(environment)
    if not os.path.lexists(path):
        return None
    content = read_private(path)
    try:
        return CloudKey(msgspec.json.decode(content, type=_CredentialsFile).cloud_key)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # without the decoder's message, which could quote the content
        raise ConfigurationInvalid(f"{path} is not a credentials file; run cactus auth again") from None


def store_cloud_key(key: CloudKey, environment: Mapping[str, str] = os.environ) -> Path:
    """Write the key to its file, with mode 0600 from the start, and return the path."""
    path = credentials_path(environment)
    write_private(path, msgspec.json.encode(_CredentialsFile(cloud_key=key.reveal())))
    return path


def forget_cloud_key(environment: Mapping[str, str] = os.environ) -> bool:
    """Remove the file; returns whether there was one."""
    path = credentials_path(environment)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ConfigurationInvalid(f"{path}: {error.strerror}") from None
    return True

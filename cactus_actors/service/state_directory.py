"""The state directory of a service, private and locked by one service at a time, and the journal directory in it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import Callable
from pathlib import Path

from cactus_actors.config import DEFAULT_STATE_DIR, ServeConfig
from cactus_actors.process.private_directories import make_private
from cactus_actors.protocol.errors import ConfigurationInvalid

LOCK = "service.lock"
MAX_NAME_BYTES = 1000
WAIT_S = 2.0
"""Seconds to wait for a service that is just ending."""
POLL_S = 0.05

_OWN_ENTRIES = frozenset(
    (
        LOCK,
        "run",
        "journal",
        "keys",
        "http",
        "audits",
        "clock.json",
        "leaving-nodes.json",
        "cloud-spending.json",
        "cloud-batches.json",
        "credentials.json",
    )
)
_OWN_BEGINNINGS = ("jobs.jsonl", "ray", "chat-history")


class StateDirectory:
    """Creates the directory with mode 0700 if needed, and holds its lock until `close` or the process ends.

    The kernel releases the lock (flock(2)), so that no stale file blocks the next service. `announce` receives
    changes of the mode, made or advised. Raises ConfigurationInvalid for a directory that cannot be created, or that
    another service has locked, naming its process and endpoint.
    """

    def __init__(self, directory: Path, endpoint: str, announce: Callable[[str], None], wait_s: float = WAIT_S) -> None:
        self._directory = directory
        try:
            make_private(directory)
            _check_own(directory)
            _close_to_others(directory, announce)
            self._lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise _unusable(f"the state directory {directory} cannot be used: {error.strerror}") from None
        try:
            self._take_lock(wait_s)
        except ConfigurationInvalid:
            os.close(self._lock)
            raise
        self.name(endpoint)

    def name(self, endpoint: str) -> None:
        """Write the endpoint of this service into the lock file."""
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"process {os.getpid()} at {endpoint}\n".encode(), 0)

    def close(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _take_lock(self, wait_s: float) -> None:
        until = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise self._is_in_use() from None
                time.sleep(POLL_S)
            except OSError as error:
                raise _unusable(f"{self._directory} is on a file system without locks ({error.strerror})") from None
            else:
                return

    def _is_in_use(self) -> ConfigurationInvalid:
        content = os.pread(self._lock, MAX_NAME_BYTES, 0).decode(errors="replace").strip()
        owner = f" ({content})" if content else ""
        return ConfigurationInvalid(
            f"the state directory {self._directory} is in use by another service{owner}; "
            "stop that one, or give this one its own with --state-dir",
            param="state_dir",
        )


def journal_directory(config: ServeConfig) -> Path:
    """The journal directory, which the next service on the same endpoint uses again.

    A service on an automatically chosen port has a directory of its own, for restarts of its router only.
    """
    endpoint = config.jobs_endpoint
    if is_reusable(endpoint):
        name = re.sub(r"[^A-Za-z0-9.]+", "-", endpoint)
    else:  # one process may run several services
        name = f"process-{os.getpid()}-{secrets.token_hex(4)}"
    return config.state_dir.expanduser() / "journal" / name


def is_reusable(endpoint: str) -> bool:
    """True if the endpoint is fixed, so that the next service can use the same one."""
    return not endpoint.endswith((":*", ":0"))


def _check_own(directory: Path) -> None:
    """Raise ConfigurationInvalid if the directory or a service's entry in it is another user's or linked.

    A link to the directory itself is allowed if it is this user's.
    """
    for path in (directory, directory.resolve(), *(directory / name for name in sorted(_OWN_ENTRIES))):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        if status.st_uid not in (0, os.geteuid()):
            raise _unusable(f"{path} belongs to another user (uid {status.st_uid})")
        if stat.S_ISLNK(status.st_mode) and path != directory:
            raise _unusable(f"{path} is a symbolic link")


def _unusable(reason: str) -> ConfigurationInvalid:
    return ConfigurationInvalid(f"{reason}; name another directory with --state-dir", param="state_dir")


def _close_to_others(directory: Path, announce: Callable[[str], None]) -> None:
    """Close a service's directory that others can enter.

    A directory that holds other files is not changed; that is only announced.
    """
    mode = stat.S_IMODE(directory.stat().st_mode)
    if not mode & 0o077:
        return
    if not _belongs_to_service(directory):
        announce(
            f"others can enter {directory} (mode {mode:04o}), which is not changed, "
            "because it holds files that are not the service's"
        )
        return
    with contextlib.suppress(PermissionError):  # owned by another user: files created in it are private anyway
        directory.chmod(0o700)
        announce(f"others could enter {directory} (mode {mode:04o}): its mode is 0700 now")


def _belongs_to_service(directory: Path) -> bool:
    if directory == DEFAULT_STATE_DIR.expanduser():
        return True
    names = [path.name for path in directory.iterdir()]
    return all(name in _OWN_ENTRIES or name.startswith(_OWN_BEGINNINGS) for name in names)

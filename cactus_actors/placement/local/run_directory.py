"""The private directory of a running service for its sockets, removed however the service ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from cactus_actors.process.private_directories import make_private
from cactus_actors.protocol.errors import ConfigurationInvalid

LOCK = "lock"
MAX_SOCKET_PATH = 100
"""sun_path of unix(7) has 108 bytes, elsewhere fewer."""
_REMOVE = 'read _; rm -rf -- "$1"'


class RunDirectory:
    """A directory of mode 0700 in `state_dir`; directories of ended services are removed first.

    A shell process, `remover`, outlives this one and removes the directory; None without a shell. Raises
    ConfigurationInvalid if the directory cannot be created.
    """

    def __init__(self, state_dir: Path) -> None:
        parent = state_dir / "run"
        try:
            make_private(parent)
            self.path = parent / f"{os.getpid()}-{secrets.token_hex(4)}"
            with _changing(parent):
                _remove_stale(parent)
                self.path.mkdir(mode=0o700)
                self._lock = _locked(self.path)
        except OSError as error:
            raise ConfigurationInvalid(f"{error.filename or parent}: {error.strerror}") from None
        self._descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.remover = self.start_remover()

    def socket_path(self, name: str) -> str:
        """The path of a socket; a path that is too long goes through /proc/PID/fd."""
        path = str(self.path / name)
        if len(os.fsencode(path)) <= MAX_SOCKET_PATH:
            return path
        if not Path("/proc/self/fd").is_dir():
            raise ConfigurationInvalid(f"{self.path} is too long for a Unix socket", param="state_dir")
        return f"/proc/{os.getpid()}/fd/{self._descriptor}/{name}"

    def start_remover(self) -> subprocess.Popen[bytes] | None:
        """Start the process that waits for the end of this one and removes the directory."""
        with contextlib.suppress(OSError):
            return subprocess.Popen(
                ["/bin/sh", "-c", _REMOVE, "sh", str(self.path)],
                stdin=subprocess.PIPE,
                process_group=0,  # signals of the terminal are not meant for it
            )
        return None

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._descriptor)
        os.close(self._lock)
        if self.remover is not None:
            self.remover.communicate()


@contextlib.contextmanager
def _changing(parent: Path) -> Iterator[None]:
    """Hold the lock under which directories in `parent` are created and removed."""
    descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _locked(directory: Path) -> int:
    """A descriptor that holds the directory's lock; raises BlockingIOError if it is held already."""
    descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove_stale(parent: Path) -> None:
    for directory in parent.iterdir():
        with contextlib.suppress(OSError):  # in use, or removed meanwhile
            descriptor = _locked(directory)
            shutil.rmtree(directory, ignore_errors=True)
            os.close(descriptor)

"""Locks and opens the journal's file, and replaces a file that cannot be read."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sqlite3
import time
from pathlib import Path
from typing import IO

from cactus_actors.process.private_directories import make_private
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.journal import picture_table
from cactus_actors.router.journal.salvage import LogDamage, log_damage, log_of, refill, salvaged

FILE_NAME = "jobs.sqlite"
VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    job_id TEXT PRIMARY KEY,
    accepted BLOB NOT NULL,
    ended BLOB,
    ended_at REAL
) WITHOUT ROWID
"""
_PROGRESS = """
CREATE TABLE IF NOT EXISTS progress (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    record BLOB NOT NULL
) WITHOUT ROWID
"""

_TABLES = {"jobs": _SCHEMA, "progress": _PROGRESS, "pictures": picture_table.SCHEMA}

_NO_DAMAGE = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    )
)

_log = logging.getLogger(__name__)


def locked(directory: Path) -> IO[str]:
    """The directory's lock file, locked until it is closed or the process ends."""
    try:
        make_private(directory)
        lock: IO[str] = os.fdopen(os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "w")
    except OSError as error:
        raise ConfigurationInvalid(f"journal {directory}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise ConfigurationInvalid(
            f"journal {directory} is in use by another service; give this one its own --state-dir"
        ) from None
    return lock


def opened(path: Path) -> sqlite3.Connection:
    """The database in `path`, created if there is none; the whole records of a damaged one move to a new file.

    A database on a full disk is open to this connection alone (`is_alone`) until it is closed, and may lack its
    tables until `make_tables`. Raises ConfigurationInvalid.
    """
    try:
        damage = log_damage(path)
        if damage is not None:
            return reopened(path, damage.reason, damage)
        return _writable(path)
    except sqlite3.DatabaseError as error:
        if is_no_damage(error) and path.exists():
            return _readable(path, error)
        if isinstance(error, sqlite3.OperationalError):
            raise ConfigurationInvalid(f"journal {path}: {error}") from error
        return reopened(path, str(error))


def reopened(path: Path, reason: str, damage: LogDamage | None = None) -> sqlite3.Connection:
    """A new database with the whole records of a damaged one, which gets another name.

    `damage` is that of its log, if it is known. Raises ConfigurationInvalid if the new one cannot be written; the
    damaged one then stays in its place.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        for old in (part, log_of(part)):
            old.unlink(missing_ok=True)
        with contextlib.closing(_writable(part)) as database:
            refill(database, salvaged(path), damage, path)
        aside = _put_aside(path)
        part.rename(path)
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationInvalid(
            f"journal {path} is damaged ({reason}), and its intact records cannot be written to a new file: {error}"
        ) from error
    _log.error("journal %s was damaged (%s); the damaged file is now %s", path, reason, aside)
    return _writable(path)


def make_tables(database: sqlite3.Connection) -> None:
    """Create missing tables; raises sqlite3.Error if they cannot be written."""
    names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    if _TABLES.keys() <= names:
        return
    with database:
        for schema in _TABLES.values():
            database.execute(schema)
        database.execute(f"PRAGMA user_version = {VERSION}")


def is_alone(database: sqlite3.Connection) -> bool:
    """True if no other connection can be open at the same time."""
    (mode,) = database.execute("PRAGMA locking_mode").fetchone()
    return bool(mode == "exclusive")


def _writable(path: Path) -> sqlite3.Connection:
    database = _connected(path)
    try:
        make_tables(database)
    except BaseException:
        database.close()
        raise
    return database


def _readable(path: Path, reason: sqlite3.DatabaseError) -> sqlite3.Connection:
    """Open without a shared-memory file, for which the disk may have no room."""
    try:
        database = _connected(path, "PRAGMA locking_mode = EXCLUSIVE")
        try:
            database.execute("SELECT count(*) FROM jobs WHERE job_id = ''")
        except BaseException:
            database.close()
            raise
    except sqlite3.DatabaseError as error:
        raise ConfigurationInvalid(f"journal {path}: {error}") from error
    _log.error("journal %s can be read but not written: %s", path, reason)
    return database


def _connected(path: Path, *pragmas: str) -> sqlite3.Connection:
    # The thread that opens it recovers, another one writes, never both at once.
    database = sqlite3.connect(path, check_same_thread=False)
    try:
        for pragma in pragmas:
            database.execute(pragma)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise ConfigurationInvalid(
                f"journal {path} is of version {version}, this service reads {VERSION}; "
                "let the service that wrote it finish its jobs, or move the file away"
            )
    except BaseException:
        database.close()
        raise
    return database


def is_no_damage(error: sqlite3.DatabaseError) -> bool:
    """True if an error comes from a full or failing disk or another process, not from the file's content."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)  # Python's own errors have none
    return code & 0xFF in _NO_DAMAGE


def _put_aside(path: Path) -> Path:
    """Rename a damaged file, so that nothing of it is lost and a new one can be created."""
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    path.rename(aside)
    with contextlib.suppress(FileNotFoundError):  # its log must not be applied to another file
        log_of(path).rename(log_of(aside))
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    return aside

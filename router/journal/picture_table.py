"""The table of pictures: each content once, by its SHA-256."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator

from cactus_actors.protocol.errors import StorageFailure
from cactus_actors.router.state.encoded_picture import EncodedPicture

SCHEMA = """
CREATE TABLE IF NOT EXISTS pictures (
    digest BLOB PRIMARY KEY,
    num_bytes INTEGER NOT NULL,
    content BLOB NOT NULL
) WITHOUT ROWID
"""

Row = tuple[object, ...]


def write(database: sqlite3.Connection, pictures: Iterable[EncodedPicture]) -> None:
    """Write the pictures that are not there yet; raises sqlite3.Error."""
    rows = ((one.digest, len(one.content), one.content) for one in pictures)
    database.executemany("INSERT OR IGNORE INTO pictures VALUES (?, ?, ?)", rows)


def delete(database: sqlite3.Connection, digests: Iterable[bytes]) -> None:
    """Delete the pictures of these digests; raises sqlite3.Error."""
    database.executemany("DELETE FROM pictures WHERE digest = ?", ((digest,) for digest in digests))


def digests(database: sqlite3.Connection) -> frozenset[bytes]:
    """The digests of all pictures; none in a journal of an earlier version, which lacks the table."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'pictures'").fetchone():
        return frozenset()
    return frozenset(digest for (digest,) in database.execute("SELECT digest FROM pictures"))


def read(database: sqlite3.Connection, digest: bytes) -> bytes:
    """The content of a picture; raises StorageFailure if it is missing or damaged."""
    try:
        row = database.execute("SELECT content FROM pictures WHERE digest = ?", (digest,)).fetchone()
    except sqlite3.Error as error:
        raise StorageFailure(f"a picture of the job cannot be read from the journal: {error}") from error
    if row is None:
        raise StorageFailure("a picture of the job is missing in the journal")
    if not is_whole((digest, len(row[0]), row[0])):
        raise StorageFailure("a picture of the job is damaged in the journal")
    return bytes(row[0])


def is_whole(row: Row) -> bool:
    """True for a row of this table whose content has its digest."""
    match row:
        case (bytes() as digest, int() as num_bytes, bytes() as content):
            return num_bytes == len(content) and hashlib.sha256(content).digest() == digest
    return False


def whole_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """The whole rows of this table among rows of any table."""
    return filter(is_whole, rows)

"""Files at URLs, by fsspec: s3://, gs://, hf://, http(s):// and whatever else it knows."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import fsspec

from cactus_actors.batch.batch_errors import InputInvalid, OutputFailed, OutputRefused
from cactus_actors.protocol.errors import CactusError, ConfigurationInvalid


def is_url(name: str) -> bool:
    return "://" in name


def local_name(url: str) -> str:
    """The name of a file of this machine for what comes to a URL; two URLs have two names."""
    name, dot, suffix = PurePosixPath(url).name.partition(".")
    return f"{name}-{hashlib.blake2b(url.encode(), digest_size=4).hexdigest()}{dot}{suffix}"


def urls_matching(pattern: str) -> list[str]:
    """The URL, or those that match a glob, by name; raises InputInvalid and ConfigurationInvalid."""
    if not set("*?[") & set(pattern) or pattern.startswith("http"):
        return [pattern]
    with _failing_as(InputInvalid, pattern):
        system, path = _located(pattern)
        return [str(system.unstrip_protocol(found)) for found in sorted(system.glob(path))]


@contextlib.contextmanager
def opened_url(url: str) -> Iterator[BinaryIO]:
    """The bytes at a URL; errors within the context are InputInvalid, unless they are errors of ours."""
    with _failing_as(InputInvalid, url):
        system, path = _located(url)
        with system.open(path, "rb") as file:
            yield file


def url_exists(url: str) -> bool:
    """Raises OutputRefused if the place cannot be asked or the bucket is missing, and ConfigurationInvalid."""
    with _failing_as(OutputRefused, url):
        system, path = _located(url)
        if system.exists(path):
            return True
        bucket = path.partition("/")[0]
        if url.startswith(("s3://", "gs://")) and not system.exists(bucket):
            raise OutputRefused(f"{url}: there is no bucket {bucket}")
        return False


def upload(file: Path, url: str) -> None:
    """Store the whole file at the URL: it appears there when it is complete. Raises OutputFailed."""
    with _failing_as(OutputFailed, url):
        system, path = _located(url)
        system.put_file(str(file), path)


def _located(url: str) -> tuple[Any, str]:
    """The file system of a URL, which asks anew each time, and the path within."""
    try:
        system, path = fsspec.url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        raise ConfigurationInvalid(f"{url}: {error}; the extra has what most URLs need: cactus-actors[data]") from None
    except ValueError as error:
        raise ConfigurationInvalid(f"{url}: {error}") from None
    return system, str(path)


@contextlib.contextmanager
def _failing_as(kind: type[CactusError], url: str) -> Iterator[None]:
    """Raise errors of a file system, whose types are many, as `kind`; those of ours stay."""
    try:
        yield
    except CactusError:
        raise
    except Exception as error:
        if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, FileNotFoundError | None):
            raise kind(f"{url}: no such file") from None
        cause = error.__cause__ or error  # also of a server that cannot be reached, as fsspec finds no file there
        reason = str(cause).strip().splitlines()
        raise kind(f"{url}: {reason[0] if reason else type(cause).__name__}") from None


def read_url(url: str) -> bytes | None:
    """The whole content at a URL, None if there is none; raises OutputFailed."""
    with _failing_as(OutputFailed, url):
        system, path = _located(url)
        try:
            return bytes(system.cat_file(path))
        except FileNotFoundError:
            return None


def write_url(url: str, content: bytes) -> None:
    """Store the content at a URL, as a whole; raises OutputFailed."""
    with _failing_as(OutputFailed, url):
        system, path = _located(url)
        system.pipe_file(path, content)


def urls_below(prefix: str) -> list[str]:
    """The files directly below a prefix; raises OutputFailed."""
    with _failing_as(OutputFailed, prefix):
        system, path = _located(prefix)
        try:
            found = system.ls(path, detail=True)
        except FileNotFoundError:
            return []
        return [str(entry["name"]) for entry in found if entry["type"] == "file"]


def remove_urls(urls: Sequence[str]) -> None:
    """Remove these files; raises OutputFailed."""
    for url in urls:
        with _failing_as(OutputFailed, url):
            system, path = _located(url)
            system.rm_file(path)

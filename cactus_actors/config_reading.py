"""Reads and merges the settings of a service, from files and other mappings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from cactus_actors.config import ServeConfig
from cactus_actors.config_models import OF_ONE_MODEL, beside_models
from cactus_actors.config_scaling import worker_range
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.type_mismatch import mismatch_of

MAX_INTEGER = (1 << 63) - 1
"""The largest integer of TOML, and of the messages between actors."""
MAX_FILE_BYTES = 1 << 20


def read_config_file(path: Path) -> dict[str, object]:
    """The settings of a TOML file as a plain mapping; raises ConfigurationInvalid naming the file."""
    try:
        settings = dict(msgspec.toml.decode(_content(path)))
        _convert(settings)
    except ConfigurationInvalid as error:
        raise ConfigurationInvalid(f"{path}: {error.message}", param=error.param) from None
    except OSError as error:
        raise ConfigurationInvalid(f"{path}: {error.strerror}") from None
    except msgspec.ValidationError as error:
        mismatch = mismatch_of(error, ServeConfig)
        raise ConfigurationInvalid(f"{path}: {mismatch.message}", param=mismatch.param) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigurationInvalid(f"{path}: {error}") from None
    except RecursionError:
        raise ConfigurationInvalid(f"{path}: its lists and tables are nested too deeply") from None
    return settings


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ConfigurationInvalid(f"more than {MAX_FILE_BYTES} bytes are no configuration")
    return content


def make_config(*sources: dict[str, object]) -> ServeConfig:
    """A ServeConfig from mappings in rising precedence; raises ConfigurationInvalid naming the setting."""
    merged: dict[str, object] = {}
    for source in sources:
        merged |= {name: value for name, value in source.items() if value is not None}
    try:
        return _convert(merged)
    except msgspec.ValidationError as error:
        mismatch = mismatch_of(error, ServeConfig)
        raise ConfigurationInvalid(f"configuration: {mismatch.message}", param=mismatch.param) from None


def _integers(value: object, path: str) -> Iterator[tuple[str, int]]:
    """The integers in settings, each with its place as msgspec writes it."""
    if isinstance(value, int):
        yield path, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _integers(part, f"{path}.{name}")
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _integers(part, f"{path}[{place}]")


def _convert(settings: dict[str, object]) -> ServeConfig:
    for path, number in _integers(settings, "$"):
        if not -MAX_INTEGER <= number <= MAX_INTEGER:
            raise msgspec.ValidationError(f"Integer value out of range - at `{path}`")
    config = msgspec.convert(settings, ServeConfig, dec_hook=lambda _, value: Path(value))
    for field in OF_ONE_MODEL:
        if config.models and field in settings:  # also with the value that it has by default
            raise beside_models(field, field)
    for workers in (config.workers, *(entry.workers for entry in config.models)):
        if workers is not None:
            worker_range(workers)
    return config

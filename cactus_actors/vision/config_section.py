"""Reads values of a model's JSON files, with errors that name the file and the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cactus_actors.models.checked_files import invalid
from cactus_actors.protocol.errors import ModelFileInvalid

MAX_INTEGER = 1 << 31


class ConfigSection:
    """An object of a JSON file; a key that is missing or null has its default, and is refused if that is None."""

    def __init__(self, path: Path, values: Mapping[str, Any], above: str = "") -> None:
        self._path = path
        self._values = values
        self._above = above

    def has(self, key: str) -> bool:
        """True unless the key is missing or null."""
        return self._values.get(key) is not None

    def part(self, key: str) -> ConfigSection:
        """The object below `key`, empty if there is none."""
        value = self._values.get(key)
        if value is not None and not isinstance(value, dict):
            raise self.refused(key, "expected an object")
        return ConfigSection(self._path, value or {}, f"{self._above}{key}.")

    def integer(self, key: str, default: int | None = None) -> int:
        """A positive integer."""
        value = self._values.get(key)
        if value is None and default is not None:
            return default
        if type(value) is not int or not 1 <= value < MAX_INTEGER:
            raise self.refused(key, "expected a positive integer")
        return value

    def side(self, key: str, default: int) -> int:
        """A positive integer, or a list of two that are equal: the side of a square."""
        value = self._values.get(key)
        if isinstance(value, list) and len(value) == 2 and value[0] == value[1]:
            return ConfigSection(self._path, {key: value[0]}, self._above).integer(key, default)
        return self.integer(key, default)

    def number(self, key: str, default: float) -> float:
        """A positive number."""
        value = self._values.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < MAX_INTEGER:
            raise self.refused(key, "expected a positive number")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """A truth value."""
        value = self._values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.refused(key, "expected true or false")
        return value

    def choice(self, key: str, values: Sequence[int]) -> int:
        """One of `values`."""
        value = self._values.get(key)
        if type(value) is not int or value not in values:
            raise self.refused(key, f"expected one of {', '.join(map(str, values))}")
        return value

    def text(self, key: str) -> str:
        """A text, empty if there is none."""
        value = self._values.get(key)
        return value if isinstance(value, str) else ""

    def channels(self, key: str, default: tuple[float, float, float] | None = None) -> tuple[float, float, float]:
        """A number for each of red, green and blue, or one for all."""
        value = self._values.get(key)
        if value is None and default is not None:
            return default
        numbers: list[Any] = value if isinstance(value, list) else [value] * 3
        if len(numbers) != 3 or not all(
            type(number) in (int, float) and abs(number) < MAX_INTEGER for number in numbers
        ):
            raise self.refused(key, "expected three numbers")
        return float(numbers[0]), float(numbers[1]), float(numbers[2])

    def refused(self, key: str, why: str) -> ModelFileInvalid:
        """The error about the value of `key`."""
        return invalid(self._path, f"{self._above}{key} is {self._values.get(key)!r:.80}: {why}")

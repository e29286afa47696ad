"""Keys of a config.json or of GGUF metadata, read with checks that name the file and the key."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cactus_actors.models.checked_files import invalid

# Inclusive bounds of plausible models; they protect against the sizes in corrupt files.
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "vocab_size": (2, 1 << 24),
    "hidden_size": (2, 1 << 17),
    "ffn_size": (1, 1 << 19),
    "num_layers": (1, 1 << 12),
    "num_heads": (1, 1 << 12),
    "num_kv_heads": (1, 1 << 12),
    "head_dim": (2, 1 << 11),
    "max_context": (1, 1 << 24),
    "window": (0, 1 << 24),
    "num_experts": (1, 1 << 12),
    "num_taps": (1, 64),
    "count": (0, 1 << 12),
    "rope_theta": (1.0, 1e12),
    "norm_eps": (1e-12, 0.1),
    "softcap": (0.0, 1e6),
    "factor": (1e-6, 1e6),
    "growth": (0.0, 1e3),
    "num_dense_layers": (0, 1 << 12),
    "shared_ffn_size": (0, 1 << 19),
    "rank": (1, 1 << 12),
    "num_streams": (2, 16),
    "alpha": (0.0, 1e6),
    "patch_size": (1, 1 << 8),
    "image_size": (1, 1 << 13),
    "merge_size": (1, 1 << 5),
    "num_patches": (1, 1 << 14),
    "num_frames": (1, 16),
    "token_id": (0, 1 << 24),
}


@dataclass(frozen=True)
class ConfigKeys:
    """The keys of one file, all below `prefix` (`llama.`) if there is one. Errors are ModelFileInvalid."""

    path: Path
    values: Mapping[str, Any]
    prefix: str = ""

    def get(self, key: str) -> Any:
        """The raw value, None if it is missing; an array of a GGUF file as a list."""
        value = self.values.get(self.prefix + key)
        return value.tolist() if isinstance(value, np.ndarray) else value

    def with_defaults(self, **defaults: Any) -> ConfigKeys:
        """A copy of the keys, with these where they are missing; a null is not missing."""
        return replace(self, values=self._prefixed(defaults) | dict(self.values))

    def replaced(self, **values: Any) -> ConfigKeys:
        """A copy of the keys, with these values replaced."""
        return replace(self, values=dict(self.values) | self._prefixed(values))

    def updated(self, others: ConfigKeys) -> ConfigKeys:
        """A copy of the keys, with those of `others` in their place."""
        values = {key.removeprefix(others.prefix): value for key, value in others.values.items()}
        return self.replaced(**values)

    def require(self, condition: bool, key: str, supported: str) -> None:
        """Refuse the file unless `condition` holds; `supported` names the accepted values."""
        if not condition:
            value = self.get(key)
            shown = f" {value!r:.100}" if value is not None else ""
            raise invalid(self.path, f"{self.prefix}{key}{shown} is not supported; supported: {supported}")

    def require_one_of(self, key: str, *supported: str | float | None) -> None:
        """Refuse the file unless the value is one of `supported`; None stands for a missing key."""
        value = self.get(key)
        plain = value is None or isinstance(value, str | int | float)
        self.require(plain and value in supported, key, " or ".join(map(str, supported)))

    def integer(self, key: str, bounds: str, default: int | None = None) -> int:
        """An integer within the bounds of that name."""
        value = self._given(key, default)
        if type(value) is not int:
            raise invalid(self.path, f"{self.prefix}{key} must be an integer, not {value!r:.100}")
        self._check_bounds(key, value, bounds)
        return value

    def number(self, key: str, bounds: str, default: float | None = None) -> float:
        """A finite number within the bounds of that name."""
        value = self._given(key, default)
        if not is_finite(value):
            raise invalid(self.path, f"{self.prefix}{key} must be a finite number, not {value!r:.100}")
        self._check_bounds(key, value, bounds)
        return float(value)

    def boolean(self, key: str, *, default: bool) -> bool:
        value = self._given(key, default)
        if type(value) is not bool:
            raise invalid(self.path, f"{self.prefix}{key} must be true or false, not {value!r:.100}")
        return value

    def strings(self, key: str, length: int) -> list[str]:
        """A list of `length` strings."""
        value = self.get(key)
        if not isinstance(value, list) or len(value) != length or not all(isinstance(v, str) for v in value):
            raise invalid(self.path, f"{self.prefix}{key} must be a list of {length} strings")
        return value

    def numbers(self, key: str, length: int, *, default: float) -> list[float]:
        """A list of `length` finite numbers; `default` for each if the key is missing."""
        value = self._given(key, [default] * length)
        if not isinstance(value, list) or len(value) != length or not all(map(is_finite, value)):
            raise invalid(self.path, f"{self.prefix}{key} must be a list of {length} finite numbers")
        return [float(each) for each in value]

    def indices(self, key: str, length: int) -> list[int]:
        """A list of integers from 0 to `length` - 1."""
        value = self.get(key)
        if not isinstance(value, list) or not all(type(v) is int and 0 <= v < length for v in value):
            raise invalid(self.path, f"{self.prefix}{key} must be a list of integers from 0 to {length - 1}")
        return value

    def below(self, key: str) -> ConfigKeys:
        """The keys of the object `key`; none if it is missing or null."""
        value = self.get(key)
        if value is not None and not isinstance(value, dict):
            raise invalid(self.path, f"{self.prefix}{key} must be an object, not {value!r:.100}")
        prefix = f"{self.prefix}{key}."
        return ConfigKeys(self.path, {f"{prefix}{name}": item for name, item in (value or {}).items()}, prefix)

    def _prefixed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {self.prefix + key: value for key, value in values.items()}

    def _given(self, key: str, default: Any) -> Any:
        value = self.get(key)
        if value is None:
            value = default
        if value is None:
            raise invalid(self.path, f"{self.prefix}{key} is missing")
        return value

    def _check_bounds(self, key: str, value: float, bounds: str) -> None:
        low, high = _BOUNDS[bounds]
        if not low <= value <= high:
            raise invalid(self.path, f"{self.prefix}{key} is {value!r:.40}, outside {low} to {high}")


def is_finite(value: Any) -> bool:
    """True for a number in the range of float64."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max

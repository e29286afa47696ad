"""The pooling of an embedding model's hidden states, by sentence-transformers' file or GGUF's key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from cactus_actors.models.checked_files import invalid, read_json_object

Pooling = Literal["mean", "cls", "lasttoken"]
"""The mean of all tokens, the first token, or the last one."""

POOLING_FILE = "1_Pooling/config.json"
_KEYS: dict[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "lasttoken",
}
_OF_GGUF: dict[int, Pooling] = {0: "mean", 1: "mean", 2: "cls", 3: "lasttoken"}
"""llama.cpp's numbers; 0 is none, which counts as a missing key."""


def pooling_of(path: Path) -> Pooling:
    """The pooling of the model in `path`, a directory or a GGUF file: by default the mean.

    Raises ModelFileInvalid for another kind, or several at once.
    """
    if path.is_file():
        from cactus_actors.models.gguf_file import open_gguf

        return pooling_of_gguf(path, open_gguf(path).metadata)
    file = path / POOLING_FILE
    return _of_json(file, read_json_object(file)) if file.is_file() else "mean"


def pooling_of_gguf(path: Path, metadata: Mapping[str, Any]) -> Pooling:
    """As `pooling_of`, by the metadata of a GGUF file."""
    key = f"{metadata.get('general.architecture')}.pooling_type"
    value = metadata.get(key, 0)
    if value not in _OF_GGUF:
        raise invalid(path, f"{key} is {value!r:.50}; supported: 0 to 3")
    return _OF_GGUF[value]


def _of_json(path: Path, values: Mapping[str, Any]) -> Pooling:
    modes = [key for key, value in values.items() if key.startswith("pooling_mode_") and value is True]
    named = values.get("pooling_mode")  # the newer spelling
    if named is not None:
        modes.append(next((key for key, kind in _KEYS.items() if kind == named), str(named)))
    if len(set(modes)) != 1 or modes[0] not in _KEYS:
        raise invalid(path, f"pooling by {', '.join(modes) or 'nothing':.200}; supported: one of {', '.join(_KEYS)}")
    return _KEYS[modes[0]]

"""Names and paths of models, and reading their JSON files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cactus_actors.protocol.errors import ModelFileInvalid

PICKLE_SUFFIXES = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl"})
MAX_CONFIG_BYTES = 16 << 20
MAX_SHOWN_CHARACTERS = 500

# half of a UTF-16 surrogate pair, where a backslash before it does not make it text
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

_EMBEDDED = Path(__file__).parent


def list_models() -> tuple[str, ...]:
    """The names of the models that ship with this package."""
    return tuple(sorted(path.parent.name for path in _EMBEDDED.glob("*/config.json")))


def resolve_model(name_or_path: str, announce: Callable[[str], None] = lambda _: None) -> Path:
    """The files of a model: a directory of safetensors files, or a GGUF file.

    It is given as the name of an embedded model, as a path, or as `owner/name[@revision][:file.gguf]` on the
    Hugging Face hub; then it is downloaded unless it is in the cache, and `announce` is told so before.
    Raises ModelFileInvalid, which names the model and what is wrong with it, and Unavailable where the hub
    is out of reach.
    """
    if name_or_path in list_models():
        return _EMBEDDED / name_or_path
    from cactus_actors.models.hub import fetch  # it stands on this module
    from cactus_actors.models.hub_cache import HubModel

    try:
        path = Path(name_or_path).expanduser()
        if path.is_dir():
            return _checked_directory(path)
        model = None if path.exists() else HubModel.parse(name_or_path)
        if model is None:
            return _checked_file(path, name_or_path)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileInvalid(f"{name_or_path}: cannot be read: {reason}", param="model") from error
    return fetch(model, announce)


def invalid(path: Path, what: str) -> ModelFileInvalid:
    """The error that names a model file and what is wrong with it; what the file says is shown in part."""
    shown = what if len(what) <= MAX_SHOWN_CHARACTERS else f"{what[:MAX_SHOWN_CHARACTERS]}..."
    return ModelFileInvalid(f"{path}: {shown}", param=path.name)


def read_json_object(path: Path, *, max_bytes: int = MAX_CONFIG_BYTES) -> dict[str, Any]:
    """The JSON object in `path`; ModelFileInvalid if it is missing, too large, or anything else."""
    return parse_json_object(path, read_bytes(path, max_bytes=max_bytes))


def parse_json_object(path: Path, content: bytes) -> dict[str, Any]:
    """Strict JSON: Unicode text, no key twice, an object at the root. `path` is for the error only."""

    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            raise invalid(path, "a JSON object names the same key twice")
        return members

    try:
        root = json.loads(content.decode("utf-8"), object_pairs_hook=without_duplicates)
        if _SURROGATE.search(content):
            json.dumps(root, ensure_ascii=False).encode("utf-8")  # raises for half of a pair
    except (ValueError, RecursionError) as error:
        raise invalid(path, f"not valid JSON: {error}") from error
    if not isinstance(root, dict):
        raise invalid(path, "not a JSON object")
    return root


def read_bytes(path: Path, *, max_bytes: int) -> bytes:
    """The whole of a file that is at most `max_bytes` long; ModelFileInvalid otherwise."""
    try:
        if path.stat().st_size > max_bytes:
            raise invalid(path, f"larger than the {max_bytes} bytes allowed for this file")
        return path.read_bytes()
    except OSError as error:
        raise invalid(path, f"cannot be read: {error.strerror or error}") from error


def _checked_file(path: Path, given: str) -> Path:
    if path.suffix in PICKLE_SUFFIXES:
        raise invalid(path, "a pickle can run code and is not loaded; convert it to safetensors or GGUF")
    if not path.is_file():
        embedded = ", ".join(list_models()) or "none"
        raise ModelFileInvalid(  # what was given, as it was: a path would lose its `./`
            f"{given[:MAX_SHOWN_CHARACTERS]}: no such file or directory; embedded: {embedded}; on the hub: owner/name",
            param="model",
        )
    with path.open("rb") as file:
        is_gguf = file.read(4) == b"GGUF"
    if not is_gguf:
        raise invalid(path, "not a GGUF file; give one, or a directory with config.json and safetensors")
    return path


def _checked_directory(directory: Path) -> Path:
    if not (directory / "config.json").is_file():
        raise invalid(directory, "no config.json in this directory")
    if any(directory.glob("*.safetensors")):
        return directory
    pickles = sorted(path.name for path in directory.iterdir() if path.suffix in PICKLE_SUFFIXES)
    if pickles:
        raise invalid(
            directory / pickles[0],
            "a pickle can run code and is not loaded; convert the model to safetensors or GGUF",
        )
    raise invalid(directory, "no *.safetensors file in this directory")

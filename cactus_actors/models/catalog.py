"""The models that ship with this package, and any other by its name or path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cactus_actors.models.checked_files import MAX_SHOWN_CHARACTERS, PICKLE_SUFFIXES, invalid
from cactus_actors.models.hub import fetch
from cactus_actors.models.hub_cache import HubModel
from cactus_actors.protocol.errors import ModelFileInvalid

_EMBEDDED = Path(__file__).parent


def list_models() -> tuple[str, ...]:
    """The names of the models that ship with this package."""
    return tuple(sorted(path.parent.name for path in _EMBEDDED.glob("*/config.json")))


def resolve_model(name_or_path: str, announce: Callable[[str], None] = lambda _: None) -> Path:
    """The files of a model: a directory of safetensors files, or a GGUF file.

    It is given as the name of an embedded model, as a path, or as `owner/name[@revision][:file.gguf]` on the
    Hugging Face hub; then it is downloaded unless it is in the cache, after a message to `announce`. Raises
    ModelFileInvalid, which names the model and its fault, and Unavailable if the hub is out of reach.
    """
    if name_or_path in list_models():
        return _EMBEDDED / name_or_path
    if not name_or_path:
        raise ModelFileInvalid(f"the name of a model is empty; {_known()}", param="model")
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


def _known() -> str:
    return f"embedded: {', '.join(list_models()) or 'none'}; on the hub: owner/name"


def _checked_file(path: Path, given: str) -> Path:
    if path.suffix in PICKLE_SUFFIXES:
        raise invalid(path, "a pickle can run code and is not loaded; convert it to safetensors or GGUF")
    if not path.is_file():
        raise ModelFileInvalid(  # the text as given: a path would lose its `./`
            f"{given[:MAX_SHOWN_CHARACTERS]}: no such file or directory; {_known()}", param="model"
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

"""Finds the file of a model's encoder of pictures (mmproj), which llama.cpp keeps apart from the text model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cactus_actors.models.hub import fetch
from cactus_actors.models.hub_cache import MMPROJ_FILES, HubModel
from cactus_actors.protocol.errors import ConfigurationInvalid, ModelFileInvalid

NONE = "none"


def find_mmproj(model: Path, given: str | None = None, announce: Callable[[str], None] = lambda _: None) -> Path | None:
    """The encoder's file for the model in `model`, None for a model of text alone.

    `given` is a path, `owner/name[@revision]:FILE` on the hub, or "none". Without it, a GGUF file has the only
    mmproj*.gguf of its directory; if there are several, none is chosen, after a message to `announce`. Raises
    ConfigurationInvalid for a file given with a directory, ModelFileInvalid for one that does not exist.
    """
    if given == NONE:
        return None
    if model.is_dir():
        if given is not None:
            raise ConfigurationInvalid(
                f"mmproj {given[:200]!r} needs a GGUF model; {model} is a directory, which has its own encoder",
                param="mmproj",
            )
        return None
    if given is not None:
        return _given_file(given, announce)
    found = [path for path in sorted(model.parent.glob(MMPROJ_FILES)) if path.name != model.name and path.is_file()]
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        announce(f"several encoders are next to the model, which reads no pictures; name one with --mmproj: {names}")
    return found[0] if len(found) == 1 else None


def _given_file(given: str, announce: Callable[[str], None]) -> Path:
    try:
        path = Path(given).expanduser()
        if path.is_file():
            return path
        hub = None if path.exists() else HubModel.parse(given)
    except (OSError, RuntimeError, ValueError) as error:
        raise ModelFileInvalid(f"mmproj {given[:200]!r}: cannot be read: {error}", param="mmproj") from error
    if hub is None or hub.file is None:
        raise ModelFileInvalid(f"mmproj {given[:200]!r}: no such file; on the hub: owner/name:FILE", param="mmproj")
    return fetch(hub, announce)

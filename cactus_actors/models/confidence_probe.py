"""Reads the file of a model's confidence probe."""

from __future__ import annotations

from pathlib import Path

import msgspec

from cactus_actors.models.checked_files import invalid, read_bytes
from cactus_actors.protocol.confidence import Probe, SignalName
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.type_mismatch import mismatch_of

FILE_NAME = "confidence_probe.json"
MAX_BYTES = 1 << 16


def probe_for(signal: SignalName, file: str | None, model: Path | None) -> Probe | None:
    """The probe in `file`, or next to the model; ConfigurationInvalid if the signal needs one and has none."""
    if file is not None:
        return read_probe(Path(file).expanduser())
    probe = None if model is None else probe_beside(model)
    if signal == "probe" and probe is None:
        raise ConfigurationInvalid(
            "the model has no confidence probe: fit one with cactus calibrate, and name it as probe_file",
            param="confidence_signal",
        )
    return probe


def probe_beside(model: Path) -> Probe | None:
    """The probe in the directory of a model, or of its GGUF file; None if there is none."""
    path = (model if model.is_dir() else model.parent) / FILE_NAME
    return read_probe(path) if path.is_file() else None


def read_probe(path: Path) -> Probe:
    """The probe in a JSON file; raises ModelFileInvalid if it is not a probe."""
    try:
        return msgspec.json.decode(read_bytes(path, max_bytes=MAX_BYTES), type=Probe)
    except msgspec.ValidationError as error:
        raise invalid(path, f"not a confidence probe: {mismatch_of(error, Probe).message}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid(path, f"not a confidence probe: {error}") from None

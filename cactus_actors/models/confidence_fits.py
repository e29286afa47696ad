"""Reads the files of a model's confidence fits: its probe and its probability."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from cactus_actors.models.checked_files import invalid, read_bytes
from cactus_actors.protocol.confidence import Probability, Probe, SignalFits, SignalName
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.type_mismatch import mismatch_of

PROBE_FILE = "confidence_probe.json"
PROBABILITY_FILE = "confidence_probability.json"
MAX_BYTES = 1 << 16

Fit = TypeVar("Fit", Probe, Probability)


def fits_for(
    signal: SignalName, model: Path | None, probe_file: str | None = None, probability_file: str | None = None
) -> SignalFits:
    """The fits in the named files, else those beside the model.

    Raises ConfigurationInvalid if `signal` needs one that is missing.
    """
    probe = _fit(Probe, probe_file, model, PROBE_FILE)
    probability = _fit(Probability, probability_file, model, PROBABILITY_FILE)
    if signal == "probability" and probability is None:
        raise _missing("probability", "no fitted probability")
    needs_probe = signal == "probe" or (probability is not None and probability.signal == "probe")
    if needs_probe and probe is None:
        raise _missing("probe", "no confidence probe")
    return SignalFits(probe, probability)


def probe_beside(model: Path) -> Probe | None:
    """The probe in the directory of a model, or of its GGUF file; None if there is none."""
    return _fit(Probe, None, model, PROBE_FILE)


def read_probe(path: Path) -> Probe:
    """The probe in a JSON file; raises ModelFileInvalid if it is not a probe."""
    return _read(path, Probe)


def read_probability(path: Path) -> Probability:
    """The probability in a JSON file; raises ModelFileInvalid if it is not one."""
    return _read(path, Probability)


def _missing(name: str, what: str) -> ConfigurationInvalid:
    return ConfigurationInvalid(
        f"the model has {what}: fit one with cactus calibrate --{name}, and name its file as {name}_file",
        param="confidence_signal",
    )


def _fit(kind: type[Fit], file: str | None, model: Path | None, name: str) -> Fit | None:
    if file is not None:
        return _read(Path(file).expanduser(), kind)
    if model is None:
        return None
    beside = (model if model.is_dir() else model.parent) / name
    return _read(beside, kind) if beside.is_file() else None


def _read(path: Path, kind: type[Fit]) -> Fit:
    noun = f"confidence {kind.__name__.lower()}"
    try:
        return msgspec.json.decode(read_bytes(path, max_bytes=MAX_BYTES), type=kind)
    except msgspec.ValidationError as error:
        raise invalid(path, f"not a {noun}: {mismatch_of(error, kind).message}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid(path, f"not a {noun}: {error}") from None

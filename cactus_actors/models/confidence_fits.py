"""Reads the files of a model's confidence fits: its probes and its probability."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from cactus_actors.config_handoff import FirstGate
from cactus_actors.models.checked_files import invalid, read_bytes
from cactus_actors.protocol.confidence import Probability, Probe, SignalFits, SignalName
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.prompt_probe import PromptProbe
from cactus_actors.protocol.type_mismatch import mismatch_of

PROBE_FILE = "confidence_probe.json"
PROBABILITY_FILE = "confidence_probability.json"
PROMPT_PROBE_FILE = "prompt_probe.json"
MAX_BYTES = 1 << 20
PROBABILITY_OF_PROBE = Probability(signal="probe", scores=[0.0, 1.0], probabilities=[0.0, 1.0])
"""For a model with a probe and no fitted probability: the probe's values are probabilities themselves."""

Fit = TypeVar("Fit", Probe, Probability, PromptProbe)
_NOUNS: dict[type, str] = {
    Probe: "confidence probe",
    Probability: "confidence probability",
    PromptProbe: "probe of prompts",
}


def fits_for(
    signal: SignalName, model: Path | None, probe_file: str | None = None, probability_file: str | None = None
) -> SignalFits:
    """The fits in the named files, else those beside the model; the signal `probability` may be that of the probe.

    Raises ConfigurationInvalid if `signal` needs one that is missing.
    """
    probe = _fit(Probe, probe_file, model, PROBE_FILE)
    probability = _fit(Probability, probability_file, model, PROBABILITY_FILE)
    if signal == "probability" and probability is None:
        if probe is None:
            raise _missing("probability", "no fitted probability")
        probability = PROBABILITY_OF_PROBE
    needs_probe = signal == "probe" or (probability is not None and probability.signal == "probe")
    if needs_probe and probe is None:
        raise _missing("probe", "no confidence probe")
    return SignalFits(probe, probability)


def gate_probe(gate: FirstGate, model: Path | None, fingerprint: str, file: str | None = None) -> PromptProbe | None:
    """The probe for the gate `prompt`, in the named file, else beside the model; None if there is none.

    None for another gate. Raises ConfigurationInvalid if it is that of a model with another fingerprint.
    """
    probe = _fit(PromptProbe, file, model, PROMPT_PROBE_FILE) if gate == "prompt" else None
    if probe is not None and probe.fingerprint != fingerprint:
        raise ConfigurationInvalid(
            f"the probe of prompts is that of another model, with the fingerprint {probe.fingerprint}; the one of this "
            f"model is {fingerprint}: fit one with cactus calibrate --prompt-probe",
            param="prompt_probe_file",
        )
    return probe


def check_gate(gate: FirstGate, probes: Iterable[PromptProbe | None]) -> None:
    """Raise ConfigurationInvalid for the gate `prompt` if no model of the service has a probe of prompts."""
    if gate == "prompt" and not any(probes):
        raise ConfigurationInvalid(
            "no model has a probe of prompts: fit one with cactus calibrate --prompt-probe, and name its file as "
            "prompt_probe_file",
            param="gate",
        )


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
    noun = _NOUNS[kind]
    try:
        return msgspec.json.decode(read_bytes(path, max_bytes=MAX_BYTES), type=kind)
    except msgspec.ValidationError as error:
        raise invalid(path, f"not a {noun}: {mismatch_of(error, kind).message}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid(path, f"not a {noun}: {error}") from None

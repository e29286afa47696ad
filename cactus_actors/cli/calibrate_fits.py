"""The fits that `cactus calibrate` writes, and the settings with which a service uses them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cactus_actors.calibration.report import SignalReport
    from cactus_actors.protocol.confidence import Probability, Probe
    from cactus_actors.protocol.prompt_probe import PromptProbe


class FitKind(NamedTuple):
    """A kind of fit: its row in the table, the setting that names its file, the one that uses it, and the two classes
    that it separates.
    """

    row: str
    noun: str
    setting: str
    use: str
    classes: tuple[str, str] = ("right", "wrong answers")


PROBE = FitKind("new probe", "probe", "probe_file", 'confidence_signal = "probe"')
PROBABILITY = FitKind("new probability", "probability", "probability_file", 'confidence_signal = "probability"')
PROMPT_PROBE = FitKind("new prompt", "probe of prompts", "prompt_probe_file", 'gate = "prompt"')
PROMPT_PROBE_OF_TWO = PROMPT_PROBE._replace(
    classes=("questions that are answered wrong here and right by --second", "others")
)


def write_fit(kind: FitKind, fit: Probe | Probability | PromptProbe | None, path: Path) -> None:
    """Write the fit as JSON; raise ConfigurationInvalid if there is none, or if the file cannot be written."""
    import msgspec

    from cactus_actors.batch.batch_errors import naming_file
    from cactus_actors.calibration.fitting import MIN_EACH
    from cactus_actors.protocol.errors import ConfigurationInvalid

    if fit is None:
        one, other = kind.classes
        raise ConfigurationInvalid(
            f"no {kind.noun} was fitted: at least {MIN_EACH} {one} and {MIN_EACH} {other} are needed"
        )
    with naming_file(path, ConfigurationInvalid):
        path.write_bytes(msgspec.json.format(msgspec.json.encode(fit)) + b"\n")


def use_of(kind: FitKind, file: Path, row: SignalReport | None, model: str | None) -> Iterator[str]:
    """That a fit was written, and the settings with which a service uses it.

    They are those of its row with the best first gate, if it has one; `model` is the name of the one of several.
    """
    gate = row.best_gate if row else None
    cut = gate.cut if gate else row.cut if row else None
    is_of_prompts = kind.row == PROMPT_PROBE.row
    yield f"The new {kind.noun} is in {file}."
    if cut is None or is_of_prompts:
        yield "In cactus.toml:"
    else:
        yield f"In cactus.toml, with cloud_handoff_threshold {cut.threshold:.6g} in requests:"
    yield "  [handoff]"
    yield f"  {kind.use}"
    if gate is not None:
        yield f"  first_gate_tokens = {gate.num_tokens}"
    if cut is not None and is_of_prompts:
        yield f"  prompt_threshold = {cut.threshold:.6g}"
    if model is not None:
        yield f"  [[models]]  # in the entry of {model}"
    yield f'  {kind.setting} = "{file}"'

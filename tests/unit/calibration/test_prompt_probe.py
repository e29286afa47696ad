"""The probe of prompts: its fit to labels of one or two models, its file, and the gate in a calibration."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

from cactus_actors.calibration import Calibration, Example, ExampleOutcome, ThresholdTarget
from cactus_actors.calibration.bound_report import BoundReport
from cactus_actors.calibration.bound_scores import Bound
from cactus_actors.calibration.prompt_fit import PromptFit
from cactus_actors.calibration.report import NEW_PROMPT
from cactus_actors.calibration.report_table import report_lines
from cactus_actors.calibration.signal_scores import PROMPT
from cactus_actors.calibration.thresholds import area_under_curve
from cactus_actors.config import RouterSettings
from cactus_actors.config_models import RoutedModel
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.confidence_fits import PROMPT_PROBE_FILE, gate_probe
from cactus_actors.protocol.errors import ConfigurationInvalid, InvalidRequest, ModelFileInvalid
from cactus_actors.protocol.prompt_probe import PromptProbe, candidate_layers
from cactus_actors.protocol.results import GateInputs, Measures, Result, Usage
from cactus_actors.router.preparation.loaded_models import load_models
from cactus_actors.text import load_text_model

NUM_PROMPTS, HIDDEN = 300, 12
KNOWN, USEFUL = 2, 5
"""Coordinates of the hidden states after two layers: what the model knows, and what a second model knows."""
PROBE = PromptProbe(fingerprint="f", layer=1, has_second=False, bias=0.0, weights=[1.0])


def drawn() -> tuple[list[dict[int, bytes]], list[bool], list[bool]]:
    """States after one layer, which say nothing, and after two, and whether both models are right."""
    draw = np.random.default_rng(0)
    noise, states = draw.normal(size=(2, NUM_PROMPTS, HIDDEN)).astype(np.float32)
    own, other = (draw.random(NUM_PROMPTS) < 1 / (1 + np.exp(-3 * states[:, place])) for place in (KNOWN, USEFUL))
    pairs = zip(noise, states, strict=True)
    return [{1: blank.tobytes(), 2: state.tobytes()} for blank, state in pairs], own.tolist(), other.tolist()


def outcome(state: dict[int, bytes], is_right: bool, prompt: float | None = None, **inputs: float) -> ExampleOutcome:
    """An answer of ten tokens, the surer the righter."""
    entropies = [0.1 if is_right else 0.3] * 10
    seen = GateInputs(
        entropies=entropies,
        logprobs=[-entropy for entropy in entropies],
        first_gate_tokens=1,
        commit_tokens=10,
        prompt=prompt,
        prompt_states=state,
        fingerprint="f",
        **inputs,
    )
    measures = Measures(entropy_mean=entropies[0], prompt=prompt, gate_inputs=seen)
    return ExampleOutcome(
        Example(), Result(confidence=0.9, measures=measures, usage=Usage(completion_tokens=10)), is_right
    )


def test_the_value_of_a_prompt_is_a_logistic_regression() -> None:
    probe = msgspec.structs.replace(PROBE, bias=0.5, weights=[2.0, -1.0])
    state = np.array([0.25, 3.0], "<f4").tobytes()
    assert probe(state) == pytest.approx(1 / (1 + math.exp(-(0.5 + 2.0 * 0.25 - 3.0))))
    assert probe(np.array([-1e30, 1e30], "<f4").tobytes()) < 1e-300


@pytest.mark.parametrize("num_layers", [1, 2, 3, 8, 30, 100])
def test_candidate_layers_are_inside_the_model(num_layers: int) -> None:
    layers = candidate_layers(num_layers)
    assert layers == sorted(set(layers))
    assert len(layers) == min(7, num_layers - 1)
    assert all(0 < layer < num_layers for layer in layers)


def test_a_fit_chooses_the_layer_that_tells_right_from_wrong() -> None:
    states, own, _ = drawn()
    probe = PromptFit("f", has_second=False).probe(states, own)
    assert probe is not None
    assert (probe.layer, probe.fingerprint, probe.has_second) == (2, "f", False)
    assert np.argmax(np.abs(probe.weights)) == KNOWN
    held_out = PromptFit("f", has_second=False).cross_validated(states, own)
    assert held_out is not None
    values = [probe(state[2]) for state in states]
    assert 0.85 < (area_under_curve(held_out, own) or 0.0) < (area_under_curve(values, own) or 0.0)
    assert sum(values) / len(values) == pytest.approx(sum(own) / len(own), abs=0.02)


def test_a_fit_needs_labels_of_both_kinds_and_states() -> None:
    states, own, _ = drawn()
    fit = PromptFit("f", has_second=False)
    assert fit.probe(states, [True] * len(states)) is None
    assert fit.cross_validated(states[:40], [place < 12 for place in range(40)]) is None
    assert fit.probe([{} for _ in states], own) is None


def test_with_a_second_model_the_probe_hands_off_what_that_improves() -> None:
    states, own, other = drawn()
    answers = [outcome(state, right) for state, right in zip(states, own, strict=True)]
    second = [ExampleOutcome(Example(), None, right) for right in other]
    target = ThresholdTarget(share=0.25)
    calibration = Calibration.of(answers, target, second, fits_prompt=True)
    probe = calibration.prompt_probe
    assert probe is not None
    assert probe.has_second
    assert set(np.argsort(np.abs(probe.weights))[-2:]) == {KNOWN, USEFUL}
    alone = Calibration.of(answers, target, fits_prompt=True)
    lines = {
        name: next(one for one in each.signals if one.name == NEW_PROMPT)
        for name, each in (("both", calibration), ("alone", alone))
    }
    assert lines["alone"].accuracy_of_all is None
    assert lines["both"].accuracy_of_all is not None
    assert lines["both"].accuracy_of_all > calibration.accuracy + 0.1
    assert (lines["both"].auroc or 0.0) < (lines["alone"].auroc or 0.0)


def test_the_threshold_of_a_new_probe_is_printed_as_settings() -> None:
    states, own, _ = drawn()
    answers = [outcome(state, right) for state, right in zip(states, own, strict=True)]
    target = ThresholdTarget(precision=0.8)
    calibration = Calibration.of(answers, target, fits_prompt=True)
    assert calibration.configuration is not None
    threshold = calibration.configuration.prompt_threshold
    assert threshold is not None
    lines = list(report_lines(calibration, target))
    assert lines[-2:] == ['  gate = "prompt"', f"  prompt_threshold = {threshold:.6g}"]
    assert all(len(line) <= 80 for line in lines)
    assert calibration.to_builtins()["prompt_probe"]["layer"] == 2


def test_a_service_without_states_of_prompts_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no hidden states of prompts"):
        Calibration.of([outcome({}, True)], ThresholdTarget(), fits_prompt=True)


def test_a_replay_hands_off_before_the_answer_what_fails_the_gate_on_the_prompt() -> None:
    """Half of the right answers fail it: no threshold of a signal keeps them."""
    values = [0.2, 0.9] * 20
    answers = [outcome({}, True, prompt=value, prompt_threshold=0.5) for value in values]
    answers += [outcome({}, False, prompt=0.8, prompt_threshold=0.5) for _ in range(20)]
    calibration = Calibration.of(answers, ThresholdTarget(precision=1.0))
    entropy = next(one for one in calibration.signals if one.name == "entropy")
    assert entropy.cut is not None
    assert (entropy.cut.num_kept, entropy.cut.num_right) == (20, 20)
    assert entropy.gates[0].tokens_before_handoff == 0.5, "half of those handed off before any token, half after one"
    prompt = next(one for one in calibration.signals if one.name == PROMPT)
    assert prompt.cut is not None
    assert prompt.cut.num_kept == 20
    bound = BoundReport.of(answers, Bound(0.2, 0.9, "entropy"))
    assert bound.grants[""].num_kept == 20
    assert bound.tokens_before_handoff == 0.5


def test_the_probe_beside_a_model_or_in_a_named_file_is_that_of_the_model(tmp_path: Path) -> None:
    assert gate_probe("prompt", tmp_path, "f") is None
    (tmp_path / PROMPT_PROBE_FILE).write_bytes(msgspec.json.encode(PROBE))
    assert gate_probe("prompt", tmp_path, "f") == PROBE
    assert gate_probe("answer", tmp_path, "g") is None
    with pytest.raises(ConfigurationInvalid, match="another model, with the fingerprint f"):
        gate_probe("prompt", tmp_path, "g")
    named = tmp_path / "named.json"
    named.write_bytes(msgspec.json.encode(msgspec.structs.replace(PROBE, bias=2.0)))
    found = gate_probe("prompt", tmp_path, "f", str(named))
    assert found is not None
    assert found.bias == 2.0
    named.write_text('{"layer": 0}')
    with pytest.raises(ModelFileInvalid, match="not a probe of prompts"):
        gate_probe("prompt", tmp_path, "f", str(named))


def test_the_gate_on_the_prompt_needs_a_probe_of_one_of_the_models(tmp_path: Path) -> None:
    sprout = resolve_model("cactus-sprout")
    named = tmp_path / "named.json"
    fingerprint = load_text_model(sprout).fingerprint
    named.write_bytes(msgspec.json.encode(msgspec.structs.replace(PROBE, fingerprint=fingerprint)))
    with_probe = RoutedModel(name="a", model="cactus-sprout", prompt_probe_file=str(named))
    without = RoutedModel(name="b", model="cactus-bloom")
    of_files = RoutedModel(name="c", model="cactus-sprout")
    loaded = load_models(RouterSettings(gate="prompt", models=[with_probe, without, of_files]))
    assert [model.prompt_probe is None for model in loaded] == [False, True, False]
    with pytest.raises(ConfigurationInvalid, match=r"no model has a probe of prompts: fit one with .* --prompt-probe"):
        load_models(RouterSettings(gate="prompt", models=[without]))
    named.write_bytes(msgspec.json.encode(PROBE))
    with pytest.raises(ConfigurationInvalid, match=r"^model a: the probe of prompts is that of another model"):
        load_models(RouterSettings(gate="prompt", models=[without, with_probe]))

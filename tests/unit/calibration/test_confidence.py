"""Signals of confidence, and the fits of a model: its probe and its probability."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.confidence_fits import (
    PROBABILITY_FILE,
    PROBE_FILE,
    fits_for,
    probe_beside,
    read_probability,
    read_probe,
)
from cactus_actors.protocol.confidence import (
    Probe,
    SignalFits,
    answer_prob,
    entropy_confidence,
    min_token_prob,
    signal_named,
)
from cactus_actors.protocol.errors import ConfigurationInvalid, ModelFileInvalid

ENTROPIES, LOGPROBS = [0.1, 0.3], [-0.5, -1.5]
FIELDS = ("bias", "entropy_mean", "entropy_max", "surprise_mean", "surprise_max", "length")


def make_probe(**weights: float) -> Probe:
    return Probe(**(dict.fromkeys(FIELDS, 0.0) | weights))


def test_signals_equal_their_formulas() -> None:
    assert entropy_confidence(ENTROPIES, LOGPROBS) == pytest.approx(0.8)
    assert min_token_prob(ENTROPIES, LOGPROBS) == pytest.approx(math.exp(-1.5))
    assert answer_prob(ENTROPIES, LOGPROBS) == pytest.approx(math.exp(-2.0))
    assert signal_named("answer_prob")([0.5] * 2, [-0.5] * 2) == pytest.approx(math.exp(-1.0))
    assert signal_named("entropy")([0.5], [-9.0]) == 0.5
    assert signal_named("min_token_prob")([0.5], [0.0]) == 1.0


@pytest.mark.parametrize(
    ("field", "feature"),
    [
        ("bias", 1.0),
        ("entropy_mean", math.log(0.2)),
        ("entropy_max", math.log(0.3)),
        ("surprise_mean", math.log(1.0)),
        ("surprise_max", math.log(1.5)),
        ("length", math.log(2.0)),
    ],
)
def test_a_probe_is_a_logistic_regression_on_logarithms(field: str, feature: float) -> None:
    probe = make_probe(**{field: 0.7})
    assert signal_named("probe", SignalFits(probe))(ENTROPIES, LOGPROBS) == pytest.approx(
        1 / (1 + math.exp(-0.7 * feature))
    )


def test_a_probe_is_finite_for_certain_tokens_and_extreme_weights() -> None:
    assert make_probe(surprise_max=1e6)([0.0], [0.0]) == pytest.approx(0.0, abs=1e-300)
    assert make_probe(surprise_max=-1e6)([0.0], [0.0]) == 1.0


def test_the_probe_is_read_from_the_model_s_directory(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.touch()
    assert probe_beside(model) is None
    (tmp_path / PROBE_FILE).write_text(json.dumps(dict.fromkeys(FIELDS, 1.5)))
    assert probe_beside(model) == probe_beside(tmp_path) == Probe(**dict.fromkeys(FIELDS, 1.5))


def test_the_configured_probe_precedes_that_of_the_model(tmp_path: Path) -> None:
    named = tmp_path / "named.json"
    named.write_text(json.dumps(dict.fromkeys(FIELDS, 2.5)))
    sprout = resolve_model("cactus-sprout")
    assert fits_for("entropy", sprout, str(named)).probe == Probe(**dict.fromkeys(FIELDS, 2.5))
    assert fits_for("probe", sprout).probe == probe_beside(sprout)
    assert fits_for("min_token_prob", tmp_path) == SignalFits()
    for model in (tmp_path, None):
        with pytest.raises(ConfigurationInvalid, match=r"no confidence probe: .* --probe"):
            fits_for("probe", model)
        with pytest.raises(ConfigurationInvalid, match=r"no fitted probability: .* --probability"):
            fits_for("probability", model)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"bias": "x"}', '{"bias": 1, "more": 2}', "\xff"])
def test_an_invalid_probe_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / PROBE_FILE
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ModelFileInvalid, match=PROBE_FILE):
        read_probe(path)


def test_the_embedded_model_has_a_probe() -> None:
    probe = probe_beside(resolve_model("cactus-sprout"))
    assert probe is not None
    sure = probe([0.001] * 8, [-0.001] * 8)
    assert probe([0.2] * 8, [-1.5] * 8) < 0.5 < sure


RISING = {"signal": "min_token_prob", "scores": [0.2, 0.6, 0.8], "probabilities": [0.1, 0.5, 0.9]}


@pytest.mark.parametrize(
    ("score", "expected"), [(0.0, 0.1), (0.2, 0.1), (0.4, 0.3), (0.6, 0.5), (0.7, 0.7), (0.8, 0.9), (1.0, 0.9)]
)
def test_a_probability_is_linear_between_its_points(tmp_path: Path, score: float, expected: float) -> None:
    (tmp_path / PROBABILITY_FILE).write_text(json.dumps(RISING))
    fits = fits_for("probability", tmp_path)
    assert fits.probability is not None
    assert fits.probability(score) == pytest.approx(expected)
    assert signal_named("probability", fits)([0.5], [math.log(max(score, 1e-9))]) == pytest.approx(expected)


def test_without_a_fit_the_probe_is_the_probability() -> None:
    sprout = resolve_model("cactus-sprout")
    assert fits_for("probe", sprout).probability is None
    fits = fits_for("probability", sprout)
    answer = [0.01, 0.2], [-0.01, -0.4]
    assert signal_named("probability", fits)(*answer) == pytest.approx(signal_named("probe", fits)(*answer))


def test_a_probability_of_the_probe_needs_the_probe(tmp_path: Path) -> None:
    named = tmp_path / "named.json"
    named.write_text(json.dumps(RISING | {"signal": "probe"}))
    with pytest.raises(ConfigurationInvalid, match="no confidence probe"):
        fits_for("probability", tmp_path, probability_file=str(named))
    sprout = resolve_model("cactus-sprout")
    assert fits_for("probability", sprout, probability_file=str(named)).probe == probe_beside(sprout)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"signal": "probability"}, "signal: .probability. is not one of"),
        ({"scores": []}, "scores has not the right length"),
        ({"scores": [0.2, 0.6]}, "must have the same length"),
        ({"scores": [0.2, 0.2, 0.8]}, "scores must rise"),
        ({"probabilities": [0.1, 0.5, 0.4]}, "probabilities must not fall"),
        ({"probabilities": [0.1, 0.5, 1.5]}, "at most 1"),
    ],
)
def test_an_invalid_probability_file_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / PROBABILITY_FILE
    path.write_text(json.dumps(RISING | change))
    with pytest.raises(ModelFileInvalid, match=message):
        read_probability(path)

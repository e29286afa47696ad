"""Signals of confidence, and the probe of a model."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.confidence_probe import FILE_NAME, probe_beside, probe_for, read_probe
from cactus_actors.protocol.confidence import (
    Probe,
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
    assert signal_named("probe", probe)(ENTROPIES, LOGPROBS) == pytest.approx(1 / (1 + math.exp(-0.7 * feature)))


def test_a_probe_is_finite_for_certain_tokens_and_extreme_weights() -> None:
    assert make_probe(surprise_max=1e6)([0.0], [0.0]) == pytest.approx(0.0, abs=1e-300)
    assert make_probe(surprise_max=-1e6)([0.0], [0.0]) == 1.0


def test_the_probe_is_read_from_the_model_s_directory(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.touch()
    assert probe_beside(model) is None
    (tmp_path / FILE_NAME).write_text(json.dumps(dict.fromkeys(FIELDS, 1.5)))
    assert probe_beside(model) == probe_beside(tmp_path) == Probe(**dict.fromkeys(FIELDS, 1.5))


def test_the_configured_probe_precedes_that_of_the_model(tmp_path: Path) -> None:
    named = tmp_path / "named.json"
    named.write_text(json.dumps(dict.fromkeys(FIELDS, 2.5)))
    sprout = resolve_model("cactus-sprout")
    assert probe_for("entropy", str(named), sprout) == Probe(**dict.fromkeys(FIELDS, 2.5))
    assert probe_for("probe", None, sprout) == probe_beside(sprout)
    assert probe_for("min_token_prob", None, tmp_path) is None
    for model in (tmp_path, None):
        with pytest.raises(ConfigurationInvalid, match="no confidence probe"):
            probe_for("probe", None, model)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"bias": "x"}', '{"bias": 1, "more": 2}', "\xff"])
def test_an_invalid_probe_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ModelFileInvalid, match=FILE_NAME):
        read_probe(path)


def test_the_embedded_model_has_a_probe() -> None:
    probe = probe_beside(resolve_model("cactus-sprout"))
    assert probe is not None
    sure = probe([0.001] * 8, [-0.001] * 8)
    assert probe([0.2] * 8, [-1.5] * 8) < 0.5 < sure

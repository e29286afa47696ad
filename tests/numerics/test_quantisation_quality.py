"""The distance of every weight and cache format from float32, on conversations that were not used in training."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.quality import REFERENCE, Comparison, Formats, compare, held_out_conversations, windows
from cactus_actors.config_models import DEFAULT_MODEL
from cactus_actors.models.catalog import resolve_model
from cactus_actors.text import load_text_model

# (least and largest mean KL divergence in nats, largest ratio of perplexities): a format without any
# divergence would not be the format of its name.
BARS: dict[Formats, tuple[float, float, float]] = {
    ("int8", "int8"): (1e-5, 1e-3, 1.005),
    ("int4", "int8"): (1e-3, 1.5e-2, 1.04),
}
RARER_BARS: dict[Formats, tuple[float, float, float]] = {
    ("float32", "int8"): (1e-6, 1e-4, 1.005),
    ("int8", "float16"): (1e-5, 1e-3, 1.005),
    ("bfloat16", "float16"): (1e-9, 1e-6, 1.0001),
}


def comparisons_of(*formats: Formats) -> dict[Formats, Comparison]:
    path = resolve_model(DEFAULT_MODEL)
    documents = held_out_conversations(load_text_model(path), per_kind=1)
    return compare(path, formats, documents)


@pytest.fixture(scope="module")
def comparisons() -> dict[Formats, Comparison]:
    return comparisons_of(*BARS)


def test_float32_has_a_low_perplexity_on_the_conversations(comparisons):
    assert 2 < comparisons[REFERENCE].perplexity < 4
    assert (comparisons[REFERENCE].divergences == 0).all()


@pytest.mark.parametrize("formats", BARS, ids="/".join)
def test_a_format_is_within_its_documented_divergence(comparisons, formats):
    check_bars(comparisons, formats, *BARS[formats])


@pytest.mark.slow  # a step is compiled for each
def test_the_rarer_formats_are_within_their_documented_divergence():
    comparisons = comparisons_of(*RARER_BARS)
    for formats, bars in RARER_BARS.items():
        check_bars(comparisons, formats, *bars)


def check_bars(comparisons, formats, least, largest, ratio):
    comparison = comparisons[formats]
    assert least < comparison.divergences.mean() < largest
    assert 1 / ratio < comparison.perplexity / comparisons[REFERENCE].perplexity < ratio


def test_divergence_agreement_and_perplexity_of_known_predictions():
    halves, thirds = np.log([0.5, 0.25, 0.25]), np.log([0.25, 0.5, 0.25])
    comparison = Comparison()
    comparison.add(np.array([halves, halves], np.float32), np.array([thirds, halves + 3], np.float32), [2, 0])
    np.testing.assert_allclose(comparison.divergences, [0.25 * np.log(2), 0], atol=1e-7)
    np.testing.assert_allclose(comparison.perplexity, np.sqrt(4 * 2), rtol=1e-6)
    assert comparison.agreement == 0.5


def test_windows_cover_the_whole_text_in_order():
    text = load_text_model(resolve_model(DEFAULT_MODEL))
    content = "Once there was a small cactus. " * 30
    pieces = windows(text, content, 50)
    assert 1 < max(map(len, pieces)) <= 50
    assert max(map(len, pieces)) - min(map(len, pieces)) <= 1
    assert text.tokenizer.decode([token for piece in pieces for token in piece]) == content

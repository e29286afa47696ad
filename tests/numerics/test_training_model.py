"""The embedded models answer as their cards say, through the engine, with the distributed weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.answering import Question
from training.chat import MODEL_DIRECTORY, PICTURE_MODEL_DIRECTORY
from training.corpus.facts import FACT_KINDS
from training.corpus.registry import evaluation_samples
from training.engine_backend import EngineBackend
from training.evaluate import Report, mean
from training.pictures.evaluate import answered, is_right
from training.pictures.lessons import evaluation_set

MAX_BYTES = {MODEL_DIRECTORY: 14_000_000, PICTURE_MODEL_DIRECTORY: 8_000_000}
SEEN = ("colour", "shape", "count")
LEAST_ACCURACY = {"sums": 0.7, "tool calls": 0.7, "stories": 0.7, "follow-ups": 0.7, "unknown": 0.7}


@pytest.fixture(scope="module")
def report() -> Report:
    samples = evaluation_samples(11, 20)
    backend = EngineBackend(MODEL_DIRECTORY, "int8", threads=1)
    answers = backend.answers([Question(sample.prompt, sample.tools) for sample in samples])
    backend.close()
    return Report.of(samples, answers, probe=None)


@pytest.fixture(scope="module")
def seen() -> dict[str, float]:
    """The share of right answers about pictures, by kind."""
    chosen = [(lesson, question) for lesson, question in evaluation_set(11, 20) if question.kind in SEEN]
    answers = answered(PICTURE_MODEL_DIRECTORY, chosen, "int8", threads=1)
    right = [(question.kind, is_right(question, answer)) for (_, question), answer in zip(chosen, answers, strict=True)]
    return {kind: mean([good for of, good in right if of == kind]) for kind in SEEN}


@pytest.mark.parametrize("directory", MAX_BYTES, ids=lambda directory: directory.name)
def test_the_weights_stay_small_enough_for_the_repository(directory: Path) -> None:
    assert (directory / "model.safetensors").stat().st_size <= MAX_BYTES[directory]


@pytest.mark.parametrize("kind", SEEN)
def test_questions_about_pictures_are_answered_in_new_wordings(seen: dict[str, float], kind: str) -> None:
    assert seen[kind] >= 0.8


@pytest.mark.parametrize("kind", FACT_KINDS)
def test_facts_are_answered_in_new_wordings(report: Report, kind: str) -> None:
    assert report.accuracy[kind] >= 0.85


@pytest.mark.parametrize("kind", LEAST_ACCURACY)
def test_skills_hold_in_new_wordings(report: Report, kind: str) -> None:
    assert report.accuracy[kind] >= LEAST_ACCURACY[kind]


def test_confidence_separates_answered_from_unanswered_questions(report: Report) -> None:
    assert report.auroc["entropy"] >= 0.9

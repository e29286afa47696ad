"""The embedded model answers as its card says, through the engine, with the distributed weights."""

from __future__ import annotations

import pytest

from training.answering import Question
from training.chat import MODEL_DIRECTORY
from training.corpus.facts import FACT_KINDS
from training.corpus.registry import evaluation_samples
from training.engine_backend import EngineBackend
from training.evaluate import Report

MAX_BYTES = 14_000_000
LEAST_ACCURACY = {"sums": 0.7, "tool calls": 0.7, "stories": 0.7, "follow-ups": 0.7, "unknown": 0.7}


@pytest.fixture(scope="module")
def report() -> Report:
    samples = evaluation_samples(11, 20)
    backend = EngineBackend(MODEL_DIRECTORY, "int8", threads=1)
    answers = backend.answers([Question(sample.prompt, sample.tools) for sample in samples])
    backend.close()
    return Report.of(samples, answers, probe=None)


def test_the_weights_stay_small_enough_for_the_repository() -> None:
    assert (MODEL_DIRECTORY / "model.safetensors").stat().st_size <= MAX_BYTES


@pytest.mark.parametrize("kind", FACT_KINDS)
def test_facts_are_answered_in_new_wordings(report: Report, kind: str) -> None:
    assert report.accuracy[kind] >= 0.85


@pytest.mark.parametrize("kind", LEAST_ACCURACY)
def test_skills_hold_in_new_wordings(report: Report, kind: str) -> None:
    assert report.accuracy[kind] >= LEAST_ACCURACY[kind]


def test_confidence_separates_answered_from_unanswered_questions(report: Report) -> None:
    assert report.auroc["entropy"] >= 0.9

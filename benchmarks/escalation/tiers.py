"""Tiers to demonstrate escalation with: cactus-sprout, and copies of it that noise on their weights makes weaker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.escalation.judged_answers import Answered, Bools, Floats, answered, asked_questions, handwritten
from cactus_actors.calibration.fitting import cross_validated_probes
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.confidence_fits import probe_beside
from cactus_actors.protocol.confidence import Signal, answer_prob, entropy_confidence, min_token_prob, probe_features

SIGNALS: Mapping[str, Signal] = {
    "answer_prob": answer_prob,
    "min_token_prob": min_token_prob,
    "entropy": entropy_confidence,
}
PROBE = "probe"


@dataclass(frozen=True, slots=True)
class Tier:
    """The answers of a model to all questions.

    scores: by signal, the lowest value at the gates of a service, (questions,).
    right: (questions,); no answer to an unanswerable question is right.
    is_answerable: (questions,).
    """

    name: str
    scores: Mapping[str, Floats]
    right: Bools
    is_answerable: Bools

    def answerable(self) -> Tier:
        """The same on the answerable questions alone."""
        mask = self.is_answerable
        scores = {name: values[mask] for name, values in self.scores.items()}
        return Tier(self.name, scores, self.right[mask], mask[mask])


def answered_tiers(noises: Iterable[float], threads: int) -> list[Tier]:
    """cactus-sprout with each amount of noise on its weights, in int8, on all questions."""
    questions = asked_questions()
    is_answerable = np.array([question.is_answerable for question in questions])
    tiers = []
    for noise in noises:
        own = answered(noise, {"": [handwritten(question) for question in questions]}, threads)[""]
        scores = {name: own.scores(signal) for name, signal in SIGNALS.items()}
        scores[PROBE] = own.scores(_probes(None if noise else resolve_model("cactus-sprout"), own))
        tiers.append(Tier(f"noise {noise:g}" if noise else "cactus-sprout", scores, own.right, is_answerable))
    return tiers


def errors_after(share: float, scores: Floats, right: Bools, second: Bools | None) -> tuple[float, float]:
    """The shares of wrong answers among those that stay, and of all, if this share of least confidence is handed off.

    second: (questions,), whether the second model is right; without it, it always is.
    """
    order = np.argsort(scores, kind="stable")
    gone, stays = np.split(order, [round(share * len(order))])
    wrong = int((~right[stays]).sum())
    of_all = wrong + (0 if second is None else int((~second[gone]).sum()))
    return wrong / len(stays), of_all / len(order)


def _probes(model: Path | None, own: Answered) -> list[Signal]:
    """The probe of the model; without one, for each answer a probe that was fitted to others."""
    if model is not None and (shipped := probe_beside(model)) is not None:
        return [shipped] * len(own.answers)
    features = [[probe_features(answer.entropies, answer.log_probabilities)] for answer in own.answers]  # at the end
    fitted = cross_validated_probes(features, own.right.tolist())
    if fitted is None:
        raise SystemExit("a probe needs more right or more wrong answers: choose another amount of noise")
    return list(fitted)

"""Tiers to demonstrate escalation with: cactus-sprout, and copies of it that noise on their weights makes weaker."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import deserialize
from safetensors.numpy import save_file

from cactus_actors.calibration.fitting import cross_validated_probes
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.confidence_fits import PROBE_FILE, PROMPT_PROBE_FILE, probe_beside
from cactus_actors.protocol.confidence import Signal, answer_prob, entropy_confidence, min_token_prob, probe_features
from cactus_actors.protocol.handoff_gates import DEFAULT_GATES
from training.answering import Answer
from training.engine_backend import EngineBackend
from training.evaluate import WITHOUT_ONE_ANSWER
from training.handwritten.test_set import HandwrittenQuestion, load_test_set
from training.handwritten.verdict import is_right

SIGNALS: Mapping[str, Signal] = {
    "answer_prob": answer_prob,
    "min_token_prob": min_token_prob,
    "entropy": entropy_confidence,
}
PROBE = "probe"

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


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


def asked_questions() -> list[HandwrittenQuestion]:
    """The hand-written questions; without those for stories, which have many right next words."""
    return [question for question in load_test_set() if question.kind != WITHOUT_ONE_ANSWER]


def answered_tiers(noises: Iterable[float], threads: int) -> list[Tier]:
    """cactus-sprout with each amount of noise on its weights, in int8, on all questions."""
    questions = asked_questions()
    sprout = resolve_model("cactus-sprout")
    tiers = []
    for noise in noises:
        with tempfile.TemporaryDirectory() as directory:
            model = disturbed(sprout, Path(directory) / "weak", noise) if noise else sprout
            with closing(EngineBackend(model, "int8", threads)) as backend:
                answers = backend.answers([question.asked() for question in questions])
        right = [one.is_answerable and is_right(one, answer) for one, answer in zip(questions, answers, strict=True)]
        scores = {name: _scores([signal] * len(answers), answers) for name, signal in SIGNALS.items()}
        scores[PROBE] = _scores(_probes(None if noise else sprout, answers, right), answers)
        name = f"noise {noise:g}" if noise else "cactus-sprout"
        tiers.append(Tier(name, scores, np.array(right), np.array([one.is_answerable for one in questions])))
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


def disturbed(model: Path, directory: Path, noise: float) -> Path:
    """Write a copy of `model` to `directory`, without its probes, with Gaussian noise on every matrix.

    `noise` is in standard deviations of the matrix.
    """
    shutil.copytree(model, directory, ignore=shutil.ignore_patterns("*.safetensors", PROBE_FILE, PROMPT_PROBE_FILE))
    draw = np.random.default_rng(0)
    tensors = {}
    content = (model / "model.safetensors").read_bytes()
    for name, stored in sorted(deserialize(content)):  # type: ignore[no-untyped-call]  # it has no order of its own
        # bfloat16 is the upper half of float32
        halves = np.frombuffer(stored["data"], np.uint16).reshape(stored["shape"])
        tensor = (halves.astype(np.uint32) << 16).view(np.float32)
        spread = noise * float(tensor.std()) if tensor.ndim == 2 else 0.0
        tensors[name] = tensor + draw.normal(0, spread, tensor.shape).astype(np.float32)
    save_file(tensors, directory / "model.safetensors")
    return directory


def _probes(model: Path | None, answers: list[Answer], right: list[bool]) -> list[Signal]:
    """The probe of the model; without one, for each answer a probe that was fitted to others."""
    if model is not None and (shipped := probe_beside(model)) is not None:
        return [shipped] * len(answers)
    features = [probe_features(answer.entropies, answer.log_probabilities) for answer in answers]
    fitted = cross_validated_probes(features, right)
    if fitted is None:
        raise SystemExit("a probe needs more right or more wrong answers: choose another amount of noise")
    return list(fitted)


def _scores(signals: list[Signal], answers: list[Answer]) -> Floats:
    return np.array([DEFAULT_GATES.lowest(signal, answer) for signal, answer in zip(signals, answers, strict=True)])

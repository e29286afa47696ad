"""Questions to demonstration models, and their answers with the judgement of each."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import deserialize
from safetensors.numpy import save_file

from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.confidence_fits import PROBE_FILE, PROMPT_PROBE_FILE
from cactus_actors.protocol.confidence import Signal
from cactus_actors.protocol.handoff_gates import DEFAULT_GATES
from training.answering import Answer, Question
from training.engine_backend import EngineBackend
from training.evaluate import WITHOUT_ONE_ANSWER
from training.handwritten import verdict
from training.handwritten.test_set import HandwrittenQuestion, load_test_set

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Judged(NamedTuple):
    """A question, and the judgement of an answer to it."""

    asked: Question
    is_right: Callable[[Answer], bool]


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers of a model to some questions, and whether they are right."""

    answers: Sequence[Answer]
    right: Bools

    def scores(self, signal: Signal | Sequence[Signal]) -> Floats:
        """The lowest value of a signal, or of one for each answer, at the gates of a service."""
        signals = [signal] * len(self.answers) if callable(signal) else signal
        return np.array([DEFAULT_GATES.lowest(one, answer) for one, answer in zip(signals, self.answers, strict=True)])


def asked_questions() -> list[HandwrittenQuestion]:
    """The hand-written questions; without those for stories, which have many right next words."""
    return [question for question in load_test_set() if question.kind != WITHOUT_ONE_ANSWER]


def handwritten(question: HandwrittenQuestion) -> Judged:
    """A hand-written question; no answer to an unanswerable one is right."""
    return Judged(question.asked(), lambda answer: question.is_answerable and verdict.is_right(question, answer))


def answered(noise: float, sets: Mapping[str, Sequence[Judged]], threads: int) -> dict[str, Answered]:
    """The answers of cactus-sprout, with noise on its weights, to all questions, greedily, in int8."""
    found = {}
    sprout = resolve_model("cactus-sprout")
    with _noised(sprout, noise) as model, closing(EngineBackend(model, "int8", threads)) as backend:
        for name, questions in sets.items():
            answers = backend.answers([question.asked for question in questions])
            right = [one.is_right(answer) for one, answer in zip(questions, answers, strict=True)]
            found[name] = Answered(answers, np.array(right))
    return found


@contextmanager
def _noised(model: Path, noise: float) -> Iterator[Path]:
    """The model, or for a while a copy of it, without its probes, with Gaussian noise on every matrix.

    `noise` is in standard deviations of the matrix.
    """
    if not noise:
        yield model
        return
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "noised"
        shutil.copytree(model, copy, ignore=shutil.ignore_patterns("*.safetensors", PROBE_FILE, PROMPT_PROBE_FILE))
        draw = np.random.default_rng(0)
        tensors = {}
        content = (model / "model.safetensors").read_bytes()
        for name, stored in sorted(deserialize(content)):  # type: ignore[no-untyped-call]  # it has no order of its own
            # bfloat16 is the upper half of float32
            halves = np.frombuffer(stored["data"], np.uint16).reshape(stored["shape"])
            tensor = (halves.astype(np.uint32) << 16).view(np.float32)
            spread = noise * float(tensor.std()) if tensor.ndim == 2 else 0.0
            tensors[name] = tensor + draw.normal(0, spread, tensor.shape).astype(np.float32)
        save_file(tensors, copy / "model.safetensors")
        yield copy

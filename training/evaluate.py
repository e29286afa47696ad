"""Evaluate cactus-sprout: accuracy by kind on held-out wordings, and the quality of its confidence."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cactus_actors.calibration.thresholds import area_under_curve
from cactus_actors.models.confidence_fits import probe_beside
from cactus_actors.protocol.confidence import Probe, Signal, answer_prob, entropy_confidence, min_token_prob
from cactus_actors.protocol.handoff_gates import HandoffGates
from training.answering import Answer, Backend, Question
from training.chat import MODEL_DIRECTORY
from training.corpus.curriculum import reworded_evaluation_samples
from training.corpus.facts import FACT_KINDS
from training.corpus.registry import evaluation_samples
from training.corpus.sample import Sample
from training.judging import is_right

SEED = 7
# A hedge is a correct reply but not an answer: confidence must separate answered from unanswered questions.
NOT_ANSWERABLE = "unknown"
# A story has many right next words, so its probabilities say nothing about right or wrong.
WITHOUT_ONE_ANSWER = "stories"
# Held-out templates of the lists, or held-out frames of the grammars with typing noise.
EVALUATION_SETS = {"templates": evaluation_samples, "grammar": reworded_evaluation_samples}
THRESHOLDS = (0.90, 0.95, 0.98)


@dataclass(frozen=True, slots=True)
class Handoff:
    """Effect of a confidence threshold: the share that is handed off, and the accuracy of the rest."""

    threshold: float
    handed_off: float
    accuracy_of_the_rest: float

    def line(self) -> str:
        right = f"the rest is right {self.accuracy_of_the_rest:5.1%}"
        return f"  {self.threshold:.2f}  hands off {self.handed_off:5.1%}, {right}"


@dataclass(frozen=True, slots=True)
class Report:
    """Shares are in [0, 1]; the AUROC of each measure counts an unanswerable question as not answered."""

    num_questions: int
    accuracy: dict[str, float]
    facts: float
    auroc: dict[str, float]
    auroc_of_answerable: dict[str, float]
    handoff: list[Handoff]

    @classmethod
    def of(cls, samples: Sequence[Sample], answers: Sequence[Answer], probe: Probe | None) -> Report:
        judged = [(sample, answer, is_right(sample, answer)) for sample, answer in zip(samples, answers, strict=True)]
        accuracy = {
            kind: mean([right for sample, _, right in judged if sample.kind == kind])
            for kind in dict.fromkeys(sample.kind for sample in samples)
        }
        answered = [
            (answer, right and sample.kind != NOT_ANSWERABLE, sample.kind != NOT_ANSWERABLE)
            for sample, answer, right in judged
            if sample.kind != WITHOUT_ONE_ANSWER
        ]
        return cls(
            len(judged),
            accuracy,
            mean([accuracy[kind] for kind in FACT_KINDS if kind in accuracy]),
            areas_under_curve([(answer, right) for answer, right, _ in answered], probe),
            areas_under_curve([(answer, right) for answer, right, answerable in answered if answerable], probe),
            [_handoff_at(threshold, answered) for threshold in THRESHOLDS],
        )

    def lines(self) -> list[str]:
        """The report as text."""
        return [
            *(f"  {kind:20s} {share:6.1%}" for kind, share in self.accuracy.items()),
            f"  {'all facts':20s} {self.facts:6.1%}",
            "AUROC of confidence (unanswerable questions count as not answered; in brackets: without them)",
            *(f"  {name:20s} {area:.3f}  ({self.auroc_of_answerable[name]:.3f})" for name, area in self.auroc.items()),
            "A minimum of the confidence by entropies (stories left out)",
            *(at.line() for at in self.handoff),
        ]


def mean(values: Sequence[float]) -> float:
    """The mean, 0 of none."""
    return sum(values) / len(values) if values else 0.0


def areas_under_curve(
    judged: Sequence[tuple[Answer, bool]], probe: Probe | None, gates: HandoffGates | None = None
) -> dict[str, float]:
    """AUROC of each measure of confidence, for answers and whether they are right: at the end, or the lowest at
    `gates`.
    """
    measures: dict[str, Signal] = {
        "entropy": entropy_confidence,
        "min_token_prob": min_token_prob,
        "mean_token_prob": lambda _, logprobs: math.exp(sum(logprobs) / len(logprobs)),
        "answer_prob": answer_prob,
    }
    if probe is not None:
        measures["probe"] = probe
    right = [is_true for _, is_true in judged]
    return {
        name: area
        for name, measure in measures.items()
        if (area := area_under_curve([_score(measure, answer, gates) for answer, _ in judged], right)) is not None
    }


def _score(measure: Signal, answer: Answer, gates: HandoffGates | None = None) -> float:
    if not answer.entropies:
        return 0.0
    return measure(answer.entropies, answer.logprobs) if gates is None else gates.lowest(measure, answer)


def _handoff_at(threshold: float, answered: Sequence[tuple[Answer, bool, bool]]) -> Handoff:
    kept = [right for answer, right, _ in answered if _score(entropy_confidence, answer) >= threshold]
    return Handoff(threshold, 1 - len(kept) / len(answered), mean(kept))


def add_backend_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `open_backend` reads."""
    parser.add_argument("--model", type=Path, default=MODEL_DIRECTORY)
    parser.add_argument("--backend", choices=("engine", "torch", "checkpoint"), default="engine")
    parser.add_argument("--weights", choices=("float32", "int8"), default="int8")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of the engine")


def open_backend(options: argparse.Namespace) -> Backend:
    """Import the backend only when it is requested: the service's own engine needs no PyTorch."""
    if options.backend == "engine":
        from training.engine_backend import EngineBackend

        return EngineBackend(options.model, options.weights, options.threads)
    from training.torch_backend import TorchBackend

    is_int8 = options.weights == "int8"
    if options.backend == "checkpoint":
        return TorchBackend.of_checkpoint(options.model, is_int8)
    return TorchBackend.of_model(options.model, is_int8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_backend_options(parser)
    parser.add_argument("--per-kind", type=int, default=40, help="questions per kind")
    parser.add_argument("--wordings", choices=EVALUATION_SETS, default="templates", help="the evaluation set")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--mistakes", metavar="KIND", help="print the wrong answers of a kind instead")
    options = parser.parse_args()
    began = time.monotonic()
    samples = EVALUATION_SETS[options.wordings](SEED, options.per_kind)
    if options.mistakes:
        samples = [sample for sample in samples if sample.kind == options.mistakes]
    backend = open_backend(options)
    answers = backend.answers([Question(sample.prompt, sample.tools) for sample in samples])
    backend.close()
    if options.mistakes:
        for sample, answer in zip(samples, answers, strict=True):
            if not is_right(sample, answer):
                print(f"{sample.prompt[-1]['content']!r}")
                print(f"  wanted {sample.wanted!r}\n  got    {answer.text!r}")
        return
    report = Report.of(samples, answers, probe_beside(options.model))
    if options.json:
        print(json.dumps(asdict(report), indent=2))
        return
    seconds = time.monotonic() - began
    print(f"{len(samples)} questions in held-out wordings, {options.weights} weights, {seconds:.0f} s")
    print(*report.lines(), sep="\n")


if __name__ == "__main__":
    main()

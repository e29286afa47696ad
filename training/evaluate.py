"""Examine cactus-sprout: accuracy by kind on held-out wordings, and what its confidence is worth."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from training.answering import Answer, Backend, Question
from training.chat import MODEL_DIRECTORY
from training.corpus.facts import FACT_KINDS
from training.corpus.registry import EXAMINED_KINDS, examination
from training.corpus.sample import Sample
from training.judging import area_under_curve, is_right

SEED = 7
MEASURES = ("entropy_confidence", "least_probability", "mean_probability")
# A hedge is the right thing to say and yet no answer: confidence must tell answered from not answered.
NOT_ANSWERABLE = "unknown"
# A story has many right next words, so its probabilities say nothing about right or wrong.
WITHOUT_ONE_ANSWER = "stories"


def open_backend(options: argparse.Namespace) -> Backend:
    """Load the backend only when asked for: the service's own engine needs no PyTorch."""
    if options.backend == "engine":
        from training.engine_backend import EngineBackend

        return EngineBackend(options.model, options.weights, options.threads)
    from training.torch_backend import TorchBackend

    is_int8 = options.weights == "int8"
    if options.backend == "checkpoint":
        return TorchBackend.of_checkpoint(options.model, is_int8)
    return TorchBackend.of_model(options.model, is_int8)


def report(samples: Sequence[Sample], answers: Sequence[Answer]) -> dict[str, object]:
    """Accuracy by kind, the mean over all facts, and the AUROC of each measure of confidence."""
    right = [is_right(sample, answer) for sample, answer in zip(samples, answers, strict=True)]
    accuracy = {
        kind: sum(r for s, r in zip(samples, right, strict=True) if s.kind == kind)
        / sum(sample.kind == kind for sample in samples)
        for kind in EXAMINED_KINDS
    }
    asked = [place for place, s in enumerate(samples) if s.kind != WITHOUT_ONE_ANSWER]
    answerable = [place for place in asked if samples[place].kind != NOT_ANSWERABLE]

    def areas(places: Sequence[int]) -> dict[str, float]:
        answered = [right[place] and samples[place].kind != NOT_ANSWERABLE for place in places]
        return {
            measure: area_under_curve([float(getattr(answers[p], measure)) for p in places], answered)
            for measure in MEASURES
        }

    return {
        "questions": len(samples),
        "accuracy": accuracy,
        "facts": sum(accuracy[kind] for kind in FACT_KINDS) / len(FACT_KINDS),
        "auroc": areas(asked),
        "auroc_answerable_only": areas(answerable),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=MODEL_DIRECTORY)
    parser.add_argument("--backend", choices=("engine", "torch", "checkpoint"), default="engine")
    parser.add_argument("--weights", choices=("float32", "bfloat16", "int8"), default="int8")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of the engine")
    parser.add_argument("--per-kind", type=int, default=40, help="questions of each kind")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--mistakes", metavar="KIND", help="print the wrong answers of a kind")
    options = parser.parse_args()
    began = time.monotonic()
    samples = examination(SEED, options.per_kind)
    if options.mistakes:
        samples = [sample for sample in samples if sample.kind == options.mistakes]
    backend = open_backend(options)
    answers = backend.answers([Question(sample.prompt, sample.tools) for sample in samples])
    backend.close()
    if options.mistakes:
        for sample, answer in zip(samples, answers, strict=True):
            if not is_right(sample, answer):
                print(
                    f"{sample.prompt[-1]['content']!r}\n  wanted {sample.wanted!r}\n  got    {answer.text!r}"
                )
        return
    found = report(samples, answers)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    accuracy, auroc = found["accuracy"], found["auroc"]
    answerable = found["auroc_answerable_only"]
    assert isinstance(accuracy, dict)
    assert isinstance(auroc, dict)
    assert isinstance(answerable, dict)
    seconds = time.monotonic() - began
    print(f"{len(samples)} questions in held-out wordings, {options.weights} weights, {seconds:.0f} s")
    for kind, share in accuracy.items():
        print(f"  {kind:20s} {share:6.1%}")
    print(f"  {'all facts':20s} {found['facts']:6.1%}")
    print("AUROC of confidence (unanswerable questions count as not answered; in brackets: without them)")
    for measure in MEASURES:
        print(f"  {measure:20s} {auroc[measure]:.3f}  ({answerable[measure]:.3f})")


if __name__ == "__main__":
    main()

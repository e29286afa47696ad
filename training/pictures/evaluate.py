"""Evaluate cactus-bloom by the service's own engine: accuracy by kind, and the quality of its confidence.

Questions are in held-out wordings, about held-out pairs of colour and shape, numbers and words.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

from cactus_actors.models.confidence_fits import probe_beside
from training.answering import Answer
from training.answering import Question as Prompt
from training.chat import PICTURE_MODEL_DIRECTORY
from training.corpus.hedges import is_hedge
from training.corpus.sample import user
from training.engine_backend import EngineBackend
from training.evaluate import areas_under_curve, mean
from training.pictures.lessons import Lesson, evaluation_set
from training.pictures.questions import UNKNOWN, Question

SEED = 7


def is_right(question: Question, answer: Answer) -> bool:
    """True for exactly the trained answer; an unanswerable question must be hedged."""
    text = answer.text.strip()
    return answer.ended and (is_hedge(text) if question.kind == UNKNOWN else text == question.answer)


def answered(model: Path, chosen: Sequence[tuple[Lesson, Question]], weights: str, threads: int) -> list[Answer]:
    """The model's answers to questions about pictures."""
    backend = EngineBackend(model, "int8" if weights == "int8" else "float32", threads)
    try:
        return backend.answers([Prompt([user(asked.text)], picture=lesson.picture) for lesson, asked in chosen])
    finally:
        backend.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=PICTURE_MODEL_DIRECTORY)
    parser.add_argument("--weights", choices=("float32", "int8"), default="int8")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of the engine")
    parser.add_argument("--per-kind", type=int, default=40, help="questions per kind")
    parser.add_argument("--mistakes", metavar="KIND", help="print the wrong answers of a kind instead")
    options = parser.parse_args()
    started = time.monotonic()
    chosen = evaluation_set(SEED, options.per_kind)
    if options.mistakes:
        chosen = [(lesson, asked) for lesson, asked in chosen if asked.kind == options.mistakes]
    answers = answered(options.model, chosen, options.weights, options.threads)
    judged = [(asked, answer, is_right(asked, answer)) for (_, asked), answer in zip(chosen, answers, strict=True)]
    if options.mistakes:
        for asked, answer, right in judged:
            if not right:
                print(f"{asked.text!r}\n  wanted {asked.answer!r}\n  got    {answer.text!r}")
        return
    seconds = time.monotonic() - started
    print(f"{len(judged)} questions about pictures, {options.weights} weights, {seconds:.0f} s")
    for kind in dict.fromkeys(asked.kind for asked, _, _ in judged):
        share = mean([right for asked, _, right in judged if asked.kind == kind])
        print(f"  {kind:20s} {share:6.1%}")
    confident = [(answer, right and asked.kind != UNKNOWN) for asked, answer, right in judged]
    print("AUROC of confidence (unanswerable questions count as not answered)")
    for name, area in areas_under_curve(confident, probe_beside(options.model)).items():
        print(f"  {name:20s} {area:.3f}")


if __name__ == "__main__":
    main()

"""Fit the confidence probe of cactus-sprout and its probe of prompts, and write them beside the model.

They are fitted to questions in the held-out wordings of templates and of grammars, with a separate seed and without
those of the evaluations: in wordings of the training set, the model is hardly ever wrong.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import msgspec

from cactus_actors.calibration.fitting import fitted_probe
from cactus_actors.calibration.prompt_fit import PromptFit
from cactus_actors.models.confidence_fits import PROBE_FILE, PROMPT_PROBE_FILE
from cactus_actors.models.fingerprint import model_fingerprint
from cactus_actors.protocol.confidence import probe_features
from training.answering import Question
from training.chat import MODEL_DIRECTORY
from training.corpus.sample import Sample
from training.engine_backend import EngineBackend
from training.evaluate import EVALUATION_SETS, NOT_ANSWERABLE, WITHOUT_ONE_ANSWER
from training.evaluate import SEED as EVALUATION_SEED
from training.judging import is_right

SEED = 11
PER_KIND = 150


def lessons(per_kind: int) -> list[Sample]:
    """Questions with one answer that no evaluation of `per_kind` questions asks."""
    evaluated = {
        str(sample.prompt) for samples in EVALUATION_SETS.values() for sample in samples(EVALUATION_SEED, per_kind)
    }
    return [
        sample
        for samples in EVALUATION_SETS.values()
        for sample in samples(SEED, per_kind)
        if sample.kind != WITHOUT_ONE_ANSWER and str(sample.prompt) not in evaluated
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=MODEL_DIRECTORY)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--per-kind", type=int, default=PER_KIND, help="questions of each kind")
    options = parser.parse_args()
    samples = lessons(options.per_kind)
    backend = EngineBackend(options.model, "int8", options.threads)
    answers = backend.answers([Question(sample.prompt, sample.tools) for sample in samples])
    backend.close()
    judged = [
        (answer, is_right(sample, answer) and sample.kind != NOT_ANSWERABLE)
        for sample, answer in zip(samples, answers, strict=True)
        if answer.entropies
    ]
    right = [is_true for _, is_true in judged]
    features = [[probe_features(answer.entropies, answer.log_probabilities)] for answer, _ in judged]  # at the end
    states = [answer.prompt_states for answer, _ in judged]
    fit = PromptFit(model_fingerprint(options.model), has_second=False)
    for name, probe in ((PROBE_FILE, fitted_probe(features, right)), (PROMPT_PROBE_FILE, fit.probe(states, right))):
        if probe is None:
            raise SystemExit("there are too few wrong answers to learn from")
        (options.model / name).write_bytes(msgspec.json.format(msgspec.json.encode(probe)) + b"\n")
        print(f"{len(judged)} answers, {len(judged) - sum(right)} of them wrong: {options.model / name}")


if __name__ == "__main__":
    main()

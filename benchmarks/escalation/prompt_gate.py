"""The gate on the prompt beside the signals of the answer: AUROC, and what handing off by each of them gains.

python -m benchmarks.escalation.prompt_gate

The probe of prompts is fitted to questions in the wordings that the training of cactus-sprout holds out, and judged by
others: the hand-written ones, and tool calls. First cactus-sprout hands off to a model that is always right; the probe
is then fitted to its own answers alone. Then a copy with noise on its weights hands off to cactus-sprout, and the probe
is fitted to the answers of both.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

import numpy as np

from benchmarks.escalation.judged_answers import Answered, Bools, Judged, answered, asked_questions, handwritten
from benchmarks.escalation.tiers import SIGNALS, errors_after
from cactus_actors.calibration.prompt_fit import PromptFit
from cactus_actors.calibration.thresholds import area_under_curve
from cactus_actors.protocol.prompt_probe import PromptProbe
from training import judging
from training.answering import Question
from training.corpus.sample import Sample
from training.evaluate import EVALUATION_SETS, NOT_ANSWERABLE
from training.evaluate import SEED as EVALUATION_SEED
from training.probe import lessons

LESSONS, TEXT, TOOLS = "lessons", "text", "tool calls"
TOOL_KINDS = ("tool calls", "tool results", "no tool needed")
NUM_TOOL_CALLS = 200
SHARES = (0.0, 0.1, 0.2, 0.3, 0.5)
PROMPT = "prompt"


def question_sets(per_kind: int) -> dict[str, list[Judged]]:
    """The questions to which probes are fitted, and the two sets by which they are judged."""
    own = [(question.kind in TOOL_KINDS, handwritten(question)) for question in asked_questions()]
    tool_calls = [
        _of_sample(sample)
        for sample in EVALUATION_SETS["templates"](EVALUATION_SEED, NUM_TOOL_CALLS)
        if sample.kind == "tool calls"
    ]
    return {
        LESSONS: [_of_sample(sample) for sample in lessons(per_kind)],
        TEXT: [judged for has_tools, judged in own if not has_tools],
        TOOLS: [*(judged for has_tools, judged in own if has_tools), *tool_calls],
    }


def fitted(own: Answered, second: Answered | None) -> PromptProbe:
    """The probe of prompts, of the benefit of a second model if there is one."""
    unneeded = own.right if second is None else own.right | ~second.right
    states = [answer.prompt_states for answer in own.answers]
    probe = PromptFit("", has_second=second is not None).probe(states, unneeded.tolist())
    if probe is None:
        raise SystemExit("a probe needs more right or more wrong answers: ask more questions")
    return probe


def lines(own: Answered, second: Bools | None, probe: PromptProbe) -> list[str]:
    """For each signal its AUROC, and at each share handed off the errors of those that stay, and of all."""
    found = []
    scores_by_name = {name: own.scores(signal) for name, signal in SIGNALS.items()}
    scores_by_name[PROMPT] = np.array([probe(answer.prompt_states[probe.layer]) for answer in own.answers])
    for name, scores in scores_by_name.items():
        area = area_under_curve(scores.tolist(), own.right.tolist())
        cells = [f"{name:16} {area or 0.0:.3f}"]
        for share in SHARES:
            of_those, of_all = errors_after(share, scores, own.right, second)
            cells.append(f"{of_those:6.1%} / {of_all:5.1%}")
        found.append("  ".join(cells))
    return found


def print_tables(title: str, own: Mapping[str, Answered], second: Mapping[str, Answered] | None) -> None:
    """A table for each set of questions, by a probe that was fitted to the lessons."""
    probe = fitted(own[LESSONS], None if second is None else second[LESSONS])
    print(f"{title}; probe of layer {probe.layer}, fitted to {len(own[LESSONS].right)} answers")
    for name in (TEXT, TOOLS):
        num = len(own[name].right)
        print(f"{name}: {num} questions, {own[name].right.mean():.1%} right; wrong of those that stay / of all")
        print("  ".join([f"{'handed off':16} AUROC", *(f"{share:>6.0%}        " for share in SHARES)]).rstrip())
        print(*lines(own[name], None if second is None else second[name].right, probe), sep="\n")


def _of_sample(sample: Sample) -> Judged:
    is_answerable = sample.kind != NOT_ANSWERABLE
    return Judged(
        Question(sample.prompt, sample.tools), lambda answer: is_answerable and judging.is_right(sample, answer)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noise", type=float, default=0.15, help="of the copy, in standard deviations")
    parser.add_argument("--per-kind", type=int, default=60, help="questions of each kind to which probes are fitted")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    sets = question_sets(options.per_kind)
    strong = answered(0.0, sets, options.threads)
    print_tables("cactus-sprout hands off to a model that is always right", strong, None)
    weak = answered(options.noise, sets, options.threads)
    print_tables(f"a copy with noise {options.noise:g} hands off to cactus-sprout", weak, strong)


if __name__ == "__main__":
    main()

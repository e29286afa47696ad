"""Ask cactus-sprout the questions of the hand-written test set: accuracy by kind and style, AUROC of confidence."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence

from cactus_actors.calibration.gate_replay import FIRST_GATES
from cactus_actors.models.confidence_fits import probe_beside
from cactus_actors.protocol.handoff_gates import HandoffGates
from training.answering import Answer
from training.evaluate import add_backend_options, areas_under_curve, mean, open_backend
from training.handwritten.test_set import HandwrittenQuestion, load_test_set
from training.handwritten.verdict import is_right

Judged = tuple[HandwrittenQuestion, Answer, bool]


def _shares(judged: Sequence[Judged], group_of: Callable[[HandwrittenQuestion], str]) -> dict[str, tuple[float, int]]:
    """The share of right answers of each group, and its number of questions."""
    groups: dict[str, list[bool]] = {}
    for question, _, right in judged:
        groups.setdefault(group_of(question), []).append(right)
    return {group: (mean(rights), len(rights)) for group, rights in groups.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_backend_options(parser)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--mistakes", action="store_true", help="print the wrong answers instead")
    options = parser.parse_args()
    questions = load_test_set()
    backend = open_backend(options)
    answers = backend.answers([question.asked() for question in questions])
    backend.close()
    judged = [(one, answer, is_right(one, answer)) for one, answer in zip(questions, answers, strict=True)]
    if options.mistakes:
        for question, answer, right in judged:
            if not right:
                print(f"{question.id:20s} {question.question!r}\n{'':20s} {answer.text!r}")
        return
    answerable = [one for one in judged if one[0].is_answerable]
    unanswerable = [one for one in judged if not one[0].is_answerable]
    shares = {
        "all": _shares(judged, lambda question: "answerable" if question.is_answerable else "unanswerable"),
        "kinds": _shares(answerable, lambda question: question.kind),
        "styles": _shares(answerable, lambda question: question.style),
        "reasons of unanswerable questions": _shares(unanswerable, lambda question: question.why),
    }
    # An unanswerable question counts as not answered; stories have many right next words.
    one_answer = [(answer, right and one.is_answerable) for one, answer, right in judged if one.kind != "stories"]
    probe = probe_beside(options.model)
    at_gates = {gate: areas_under_curve(one_answer, probe, HandoffGates(gate)) for gate in sorted(FIRST_GATES)}
    auroc = at_gates[0]
    if options.json:
        print(json.dumps({**shares, "auroc": auroc, "auroc_by_first_gate": at_gates}, indent=2))
        return
    for title, groups in shares.items():
        print(title)
        for group, (share, count) in groups.items():
            print(f"  {group:22s} {share:6.1%} of {count}")
    print("AUROC of confidence")
    for name, area in auroc.items():
        print(f"  {name:22s} {area:.3f}")
    print("AUROC at the gates, by tokens of the first gate (0: the end alone)")
    print(f"  {'':22s} {' '.join(f'{gate:5d}' for gate in at_gates)}")
    for name in auroc:
        print(f"  {name:22s} {' '.join(f'{areas[name]:5.3f}' for areas in at_gates.values())}")


if __name__ == "__main__":
    main()

"""Whether an answer is right, and how well a number tells right answers from wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

from training.answering import Answer
from training.corpus.hedges import is_hedge
from training.corpus.sample import Sample
from training.corpus.stories import is_coherent
from training.corpus.tools import parsed_call


def is_right(sample: Sample, answer: Answer) -> bool:
    """Judge one answer.

    Facts, sums, instructions, small talk and follow-ups must be the taught text to the letter. A tool call
    must be well formed and equal in name and arguments, types included. A story must pass `is_coherent`. What
    cannot be known must be hedged. An answer that does not end by itself is wrong.
    """
    if not answer.ended:
        return False
    text = answer.text.strip()
    if sample.kind == "stories":
        return is_coherent(str(sample.messages[-2]["content"]), text)
    if sample.kind == "unknown":
        return is_hedge(text)
    if sample.kind == "tool calls":
        return text.startswith("<tool_call>") and parsed_call(text) == parsed_call(sample.wanted)
    return text == sample.wanted


def area_under_curve(scores: Sequence[float], right: Sequence[bool]) -> float:
    """The chance that a right answer scores above a wrong one, ties counting half; 0.5 if all are alike."""
    ranked = sorted(zip(scores, right, strict=True))
    num_right = sum(right)
    num_wrong = len(right) - num_right
    if not num_right or not num_wrong:
        return 0.5
    rank_sum, place = 0.0, 0
    while place < len(ranked):
        end = place
        while end < len(ranked) and ranked[end][0] == ranked[place][0]:
            end += 1
        mean_rank = (place + 1 + end) / 2
        rank_sum += mean_rank * sum(is_true for _, is_true in ranked[place:end])
        place = end
    return (rank_sum - num_right * (num_right + 1) / 2) / (num_right * num_wrong)

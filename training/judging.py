"""The rules by which an answer counts as right."""

from __future__ import annotations

from training.answering import Answer
from training.corpus.hedges import is_hedge
from training.corpus.sample import Sample
from training.corpus.stories import is_coherent
from training.corpus.tools import parsed_call


def is_right(sample: Sample, answer: Answer) -> bool:
    """Judge one answer.

    Facts, sums, instructions, small talk and follow-ups must equal the taught text exactly. A tool call
    must be well formed and equal in name and arguments, types included. A story must pass `is_coherent`. Unknowable
    questions must be hedged. An answer that does not end by itself is wrong.
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

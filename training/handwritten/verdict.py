"""The judgement of an answer to a question of the test set."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from training.answering import Answer
from training.corpus.hedges import is_hedge
from training.corpus.tools import parsed_call
from training.handwritten.test_set import Call, HandwrittenQuestion

CALL_OPENS = "<tool_call>"
_UNKNOWING = re.compile(r"(do not|don't|cannot|can't) (know|say|tell)|not sure|no idea|not known")
_DENIAL = re.compile(r"\b(no|not|never|none|nobody|nothing|isn't|doesn't|don't|wasn't|didn't|has no|have no)\b")


def is_right(question: HandwrittenQuestion, answer: Answer) -> bool:
    """True if the answer is right by the rules of the question; an answer that does not end by itself is wrong."""
    if not answer.ended:
        return False
    text = answer.text.strip()
    if not question.is_answerable:
        return _admits_not_knowing(text) or (question.why == "false premise" and bool(_DENIAL.search(text.lower())))
    if question.call is not msgspec.UNSET and question.call is not None:
        return text.startswith(CALL_OPENS) and _is_the_call(question.call, text)
    if text.startswith(CALL_OPENS) or _admits_not_knowing(text):
        return False
    plain = _words(text, keeps_case=question.case)
    num_found = sum(_occurs(one, plain, question.case) for one in question.answers)
    return (
        num_found >= question.least
        and len(text.split()) >= question.least_words
        and all(_any_occurs(group, plain, question.case) for group in question.also)
        and not _any_occurs(question.forbidden, plain, question.case)
    )


def _admits_not_knowing(text: str) -> bool:
    return is_hedge(text) or bool(_UNKNOWING.search(text.lower()))


def _any_occurs(accepted: Iterable[str], plain: str, keeps_case: bool) -> bool:
    return any(_occurs(one, plain, keeps_case) for one in accepted)


def _occurs(accepted: str, plain: str, keeps_case: bool) -> bool:
    return f" {_words(accepted, keeps_case=keeps_case).strip()} " in plain


def _words(text: str, *, keeps_case: bool) -> str:
    """The words of a text, with one space before, between and after them."""
    letters = (letter if letter.isalnum() else " " for letter in (text if keeps_case else text.lower()))
    return f" {' '.join(''.join(letters).split())} "


def _is_the_call(wanted: Call, text: str) -> bool:
    call = parsed_call(text)
    return call is not None and call[0] == wanted.name and _folded(call[1]) == _folded(wanted.arguments)


def _folded(arguments: Any) -> dict[str, Any]:
    return {name: value.lower() if isinstance(value, str) else value for name, value in arguments.items()}

"""Long conversations: many unrelated turns, then one more question, at times about how it all began."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from training.corpus.followups import WHO_AM_I
from training.corpus.phrasing import Phrasing
from training.corpus.sample import Message, Sample, assistant, user
from training.corpus.smalltalk import INTRODUCTIONS
from training.corpus.words import any_name

KIND = "long chats"
# Two characters of a conversation are about one token; what is asked must fit the model's context of 1024.
MAX_CHARACTERS = 1700


def long_chat(rng: Random, held_out: bool, draw: Callable[[bool], Sample]) -> Sample:
    """Join what draw(held_out) gives; only the last question is worded in a held-out way."""
    turns: list[Message] = []
    length = rng.randint(200, MAX_CHARACTERS)
    while sum(len(turn["content"]) for turn in turns) < length:
        part = draw(False)
        # One system message and one introduction at most, or there is no telling which holds.
        has_own_setting = part.tools or part.messages[0]["role"] == "system"
        if not has_own_setting and not part.messages[1]["content"].startswith("Nice to meet you,"):
            turns.extend(part.messages)
    if rng.random() < 0.15:
        name = any_name(rng)
        introduction = user(Phrasing(rng, False).template(INTRODUCTIONS).format(x=name))
        question = user(Phrasing(rng, held_out).alone(WHO_AM_I))
        turns = [introduction, assistant(f"Nice to meet you, {name}!"), *turns]
        return Sample(KIND, (*turns, question, assistant(f"Your name is {name}.")))
    while (last := draw(held_out)).messages[0]["role"] == "system" or last.kind in ("stories", "unknown"):
        pass
    return Sample(KIND, (*turns, *last.messages), last.tools, last.accepted)

"""Long conversations: many unrelated turns, then one more question, sometimes about the first turn."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from training.corpus.followups import WHO_AM_I
from training.corpus.phrasing import Phrasing
from training.corpus.sample import Message, Sample, assistant, user
from training.corpus.smalltalk import INTRODUCTIONS
from training.corpus.words import any_name

KIND = "long chats"
# A token has about two characters of a conversation; the conversation must fit the model's context of 1024.
MAX_CHARACTERS = 1700


def long_chat(rng: Random, held_out: bool, draw: Callable[[bool], Sample]) -> Sample:
    """Join samples of draw(held_out); only the last question has a held-out wording."""
    turns: list[Message] = []
    length = rng.randint(200, MAX_CHARACTERS)
    while sum(len(turn["content"]) for turn in turns) < length:
        part = draw(False)
        # At most one system message and one introduction, so that it is clear which one applies.
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

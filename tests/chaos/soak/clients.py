"""Clients with many kinds of requests at once, some of them with pictures."""

from __future__ import annotations

import random
from typing import Any

from tests.chaos.soak.witness import Witness
from tests.support.models.shape_pictures import RED_SQUARE, TWO_CIRCLES

SUBJECTS = ["a fox", "the sea", "two sisters", "an old clock", "a lost letter", "snow"]
NUM_REQUESTS = 24
QUESTIONS = ["What colour is the square?", "How many shapes are there?", "Which shape is left of the other one?"]
PICTURES = [RED_SQUARE, TWO_CIRCLES]
NUM_WITH_PICTURES = 8


def request(number: int) -> tuple[str, dict[str, Any]]:
    """One of a fixed number of requests: its prompt and its options."""
    options = {
        "seed": number,
        "max_tokens": 8 + 13 * (number % 12),
        "temperature": (0.0, 0.7, 1.2)[number % 3],
        "ignore_eos": number % 2 == 0,
        "user": f"user-{number % 4}",
    }
    return f"Tell me a story about {SUBJECTS[number % len(SUBJECTS)]}.", options


def request_of_client(number: int) -> tuple[str | None, dict[str, Any]]:
    """One of those, or of NUM_WITH_PICTURES more questions about pictures, which have no prompt but messages."""
    if number < NUM_REQUESTS:
        return request(number)
    question, picture = QUESTIONS[number % len(QUESTIONS)], PICTURES[number % len(PICTURES)]
    message = {"role": "user", "content": question, "images": [picture]}
    return None, {"messages": [message], **request(number)[1]}


class Worker:
    """The endless work of one client, until it is asked to finish."""

    def __init__(self, witness: Witness, chance: random.Random) -> None:
        self._witness = witness
        self._chance = chance
        self.is_finishing = False

    async def run(self) -> None:
        witness = self._witness
        ways = [witness.complete, witness.stream, witness.leave_and_return, witness.cancel]
        while not self.is_finishing:
            await self._chance.choice(ways)(self._chance.randrange(NUM_REQUESTS + NUM_WITH_PICTURES))

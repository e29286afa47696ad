"""Chats of several turns: the prompt and the time of each turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

MAX_TOKEN = 50_000


@dataclass(frozen=True)
class Habits:
    """Means, in tokens and seconds, of exponential lengths and pauses and of the number of turns."""

    system_tokens: int = 128
    num_systems: int = 4
    said_tokens: int = 60
    answer_tokens: int = 120
    pause_s: float = 10.0
    turns: int = 6


@dataclass
class Chat:
    """One conversation; `worker` is where its last turn ran."""

    number: int
    history: list[int]
    turns_left: int
    worker: str | None = None
    said: list[int] = field(default_factory=list)


class Chats:
    """Draws chats and turns from one seed."""

    def __init__(self, habits: Habits, seed: int) -> None:
        self._habits = habits
        self._random = Random(seed)
        self._systems = [self._tokens(habits.system_tokens) for _ in range(habits.num_systems)]
        self._num_chats = 0

    def new(self) -> Chat:
        """Begin a chat with a system prompt that other chats share."""
        self._num_chats += 1
        num_turns = 1 + int(self._random.expovariate(1 / (self._habits.turns - 1)))
        return Chat(self._num_chats, [*self._random.choice(self._systems)], num_turns)

    def next_turn(self, chat: Chat) -> tuple[list[int], int]:
        """Return the prompt of the next turn, and the length of its answer."""
        chat.turns_left -= 1
        chat.said = self._tokens(self._length(self._habits.said_tokens))
        return [*chat.history, *chat.said], self._length(self._habits.answer_tokens)

    def answered(self, chat: Chat, answer: list[int], worker: str) -> None:
        chat.history += [*chat.said, *answer]
        chat.worker = worker

    def pause_s(self) -> float:
        return self._random.expovariate(1 / self._habits.pause_s)

    def _length(self, mean: int) -> int:
        return 4 + int(self._random.expovariate(1 / mean))

    def _tokens(self, count: int) -> list[int]:
        return [self._random.randrange(1, MAX_TOKEN) for _ in range(count)]

"""Speculative decoding with drafts from the model's own head for further tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.model import DraftRows, TokenGuesser
from cactus_actors.workers.engine.sequence import Sequence as TokenSequence
from cactus_actors.workers.engine.speculation import Drafter, StepCost

MIN_COMMON = 0.85
"""Share of common tokens among the last ones of a sequence from which on its drafts are common ones."""

RECENT_TOKENS = 256


class HeadSlot(NamedTuple):
    """A sequence that samples, and the number of drafts that fit after it."""

    drafter: Drafter
    num_tokens: int
    room: int


class HeadDrafter:
    """Drafts tokens by rounds of the head: a round computes the next draft of each sequence that gets one.

    The head reads the hidden state from which the last token of a sequence was sampled (`Sequence.hidden`), and the
    keys and values that the steps of the model have stored for it. `max_rows` limits the sequences of a round.

    Most of a round's time goes to the output layer of a large vocabulary. A round drafts common tokens alone if
    the sequences have few others.
    """

    def __init__(
        self,
        head: TokenGuesser,
        cache: KVCache,
        max_rows: int,
        clock: Callable[[], float],
        *,
        recomputes_accepted: bool = False,
    ) -> None:
        self._head = head
        self._recomputes_accepted = recomputes_accepted
        self._cache = cache
        self._clock = clock
        self._round_cost = StepCost(max_rows, unknown=0.0)
        self.seconds = 0.0
        """Seconds of the last drafts."""

    def begin_step(self) -> None:
        """Nothing is drafted in this step so far."""
        self.seconds = 0.0

    def draft_counts(self, slots: Sequence[HeadSlot], num_rows: int, limit: int, cost: StepCost) -> list[int]:
        """The number of drafts for each slot, at most `limit` in all, in a step of `num_rows` rows without them."""
        hopes = [(slot.drafter.acceptance_rate, min(limit, slot.room)) for slot in slots]
        repeated = 1.0 if self._recomputes_accepted else 0.0
        counts = best_counts(hopes, num_rows, limit, cost, self._round_cost, repeated=repeated)
        num_left = limit - sum(counts)
        for index, slot in enumerate(slots):
            if slot.room > 0 and (counts[index] or num_left):
                num_drafts = min(slot.room, slot.drafter.num_wanted(counts[index], slot.num_tokens))
                num_left -= num_drafts - counts[index]
                counts[index] = num_drafts
        return counts

    def propose(self, sequences: Sequence[TokenSequence], counts: Sequence[int]) -> list[NDArray[np.int32]]:
        """So many drafts for each sequence, whose block table has room for them."""
        drafts = [np.zeros(count, np.int32) for count in counts]
        rows = [index for index, count in enumerate(counts) if count]
        is_common = all(_share_below(self._head.num_common, sequences[index]) >= MIN_COMMON for index in rows)
        last = {index: int(sequences[index].token_ids[-1]) for index in rows}
        hidden = {index: sequences[index].hidden for index in rows}
        number = 0
        while rows:
            started = self._clock()
            tables = [sequences[index].block_table for index in rows]
            positions = [sequences[index].num_tokens - 1 + number for index in rows]
            rotary_positions = [
                _rotary_position_at(position, sequences[index]) for position, index in zip(positions, rows, strict=True)
            ]
            guesses = self._head.guess(
                DraftRows(
                    np.array([last[index] for index in rows], np.int32),
                    np.array(positions, np.int32),
                    np.array(rotary_positions, np.int32),
                    _padded(tables),
                    np.stack([hidden[index] for index in rows]),  # type: ignore[misc]
                ),
                self._cache,
                is_common=is_common,
            )
            best = guesses.logits.argmax(axis=1)
            for row, index in enumerate(rows):
                drafts[index][number] = last[index] = int(best[row])
                hidden[index] = guesses.hidden[row].copy()
            seconds = self._clock() - started
            self._round_cost.on_step(len(rows), seconds)
            self.seconds += seconds
            number += 1
            rows = [index for index in rows if counts[index] > number]
        return drafts


def best_counts(
    proposals: Sequence[tuple[float, int]],
    num_rows: int,
    limit: int,
    cost: StepCost,
    round_cost: StepCost,
    *,
    repeated: float = 0.0,
) -> list[int]:
    """Numbers of drafts for the most tokens per second, from (acceptance rate, room) of each sequence that samples.

    As `best_draft_counts`, but a round of the head takes time, too: `round_cost`, by the number of its sequences. An
    accepted draft takes that of `repeated` rows in the next step.
    """
    likelihoods = sorted(
        (
            (acceptance_rate**place, place, index)
            for index, (acceptance_rate, room) in enumerate(proposals)
            for place in range(1, room + 1)
        ),
        key=lambda each: (-each[0], each[1:]),
    )[:limit]
    sizes: list[int] = []  # sequences in each round
    num_expected, num_best = float(len(proposals)), 0
    seconds_without = cost.of(num_rows)
    best_rate = num_expected / seconds_without
    for num_drafts, (likelihood, place, _) in enumerate(likelihoods, start=1):
        num_expected += likelihood
        if place > len(sizes):
            sizes.append(0)
        sizes[place - 1] += 1
        seconds = cost.of(num_rows + num_drafts)
        seconds_of_row = max(0.0, seconds - seconds_without) / num_drafts
        num_repeated = repeated * (num_expected - len(proposals))
        rate = num_expected / (seconds + num_repeated * seconds_of_row + sum(map(round_cost.of, sizes)))
        if rate > best_rate:
            num_best, best_rate = num_drafts, rate
    counts = [0] * len(proposals)
    for _, _, index in likelihoods[:num_best]:
        counts[index] += 1
    return counts


def _rotary_position_at(position: int, sequence: TokenSequence) -> int:
    """The position of a sampled token by which rotary embeddings turn, the same on all axes."""
    axes = None if sequence.pictures is None else sequence.pictures.axes
    return position if axes is None else int(axes.within(position, position + 1)[0, 0])


def _share_below(num_common: int, sequence: TokenSequence) -> float:
    """The share of tokens below a number among the last ones of a sequence."""
    return float((sequence.token_ids[-RECENT_TOKENS:] < num_common).mean())


def _padded(tables: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    padded = np.zeros((len(tables), max(map(len, tables))), np.int32)
    for row, table in enumerate(tables):
        padded[row, : len(table)] = table
    return padded

"""The evaluation set of templates: every kind in listed templates, some of which no training uses.

The card of the shipped model reports it. curriculum.py has the training set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from training.corpus import (
    arithmetic,
    facts,
    followups,
    instructions,
    longchats,
    smalltalk,
    stories,
    tools,
    unknown,
)
from training.corpus.sample import Sample

Make = Callable[[Random, bool, float], Sample]


def _plain(make: Callable[[Random, bool], Sample]) -> Make:
    return lambda rng, held_out, difficulty: make(rng, held_out)  # noqa: ARG005


def _facts(kind: str) -> Make:
    return lambda rng, held_out, difficulty: facts.facts(rng, held_out, kind)  # noqa: ARG005


def _no_tool(rng: Random, held_out: bool, difficulty: float) -> Sample:
    other = rng.choice([kind for kind in KINDS if kind in NEEDS_NO_TOOL])
    return tools.no_tool(rng, held_out, KINDS[other](rng, held_out, difficulty))


def _long_chat(rng: Random, held_out: bool, difficulty: float) -> Sample:
    kinds, weights = zip(*SHARES.items(), strict=True)

    def draw(last_held_out: bool) -> Sample:
        return KINDS[rng.choices(kinds, weights)[0]](rng, last_held_out, difficulty)

    return longchats.long_chat(rng, held_out, draw)


KINDS: Mapping[str, Make] = {
    "small talk": _plain(smalltalk.smalltalk),
    **{kind: _facts(kind) for kind in facts.FACT_KINDS},
    "sums": _plain(arithmetic.sums),
    "differences": _plain(arithmetic.differences),
    "products": _plain(arithmetic.products),
    "list": _plain(instructions.lists),
    "repeat": _plain(instructions.repeat),
    "count": _plain(instructions.count),
    "rhyme": _plain(instructions.rhyme),
    "uppercase": _plain(instructions.uppercase),
    "stories": _plain(stories.story),
    "tool calls": tools.tool_call,
    "tool results": _plain(tools.tool_result),
    "no tool needed": _no_tool,
    "follow-ups": _plain(followups.followup),
    "unknown": _plain(unknown.unknown),
    longchats.KIND: _long_chat,
}
NEEDS_NO_TOOL = frozenset(("small talk", *facts.FACT_KINDS))
EVALUATED_KINDS = tuple(KINDS)
# The share of each kind in a long conversation.
SHARES = {
    "small talk": 0.05,
    "capitals": 0.025,
    "continents": 0.012,
    "colours": 0.01,
    "animals": 0.02,
    "elements": 0.015,
    "opposites": 0.015,
    "days and months": 0.015,
    "units": 0.01,
    "general knowledge": 0.012,
    "sums": 0.09,
    "differences": 0.05,
    "products": 0.02,
    "list": 0.012,
    "repeat": 0.07,
    "count": 0.015,
    "rhyme": 0.012,
    "uppercase": 0.035,
    "stories": 0.05,
    "tool calls": 0.38,
    "tool results": 0.015,
    "no tool needed": 0.02,
    "follow-ups": 0.06,
    "unknown": 0.06,
}


def evaluation_samples(seed: int, per_kind: int) -> list[Sample]:
    """Questions whose wordings are in no training sample, the same number of each kind."""
    samples: list[Sample] = []
    for kind in EVALUATED_KINDS:
        rng = Random(f"examination/{seed}/{kind}")  # the name of the seed decides the samples of the model card
        samples.extend(KINDS[kind](rng, True, rng.random()) for _ in range(per_kind))
    return samples

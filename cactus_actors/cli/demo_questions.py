"""The table of the demo: questions of the kinds that the embedded model answers, and some that nobody can answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

SEED = 20
PLACES = (
    *("Argentina", "Austria", "Brazil", "Bulgaria", "Canada", "Chile", "Colombia", "Cuba", "Denmark", "Egypt"),
    *("Finland", "France", "Germany", "Greece", "Hungary", "Iceland", "India", "Ireland", "Italy", "Japan", "Kenya"),
    *("Mexico", "Morocco", "Norway", "Peru", "Poland", "Portugal", "Romania", "Spain", "Sweden", "Turkey", "Vietnam"),
)
ABOUT_PLACES = (
    "What is the capital of {}?",
    "Which continent is {} in?",
    "Tell me the capital of {}.",
    "What's the capital city of {}?",
)
SUMS = ("What is {} + {}?", "What is {} plus {}?", "How much is {} + {}?", "Add {} and {}.", "Calculate {} + {}.")
DIFFERENCES = ("What is {} - {}?", "What is {} minus {}?", "How much is {} - {}?", "Calculate {} - {}.")
PRODUCTS = ("What is {} times {}?", "How much is {} x {}?", "Multiply {} by {}.")
UNKNOWN = ("Who is the mayor of {}?", "What is the population of {}?", "Who founded {}?")
BEGINNINGS = ("Bel", "Dor", "Fen", "Gra", "Hol", "Kel", "Mor", "Nev", "Pol", "Quel", "Rav", "Tor", "Vel", "Wes", "Zor")
MIDDLES = ("a", "an", "do", "e", "en", "i", "il", "o", "or", "u", "va")
ENDS = ("borough", "burg", "dale", "field", "ford", "ham", "mouth", "stead", "ville", "wick")


def write_questions(path: Path, num_rows: int) -> int:
    """Write a Parquet file with the columns id, kind and question, always the same; returns how many questions differ.

    The kinds follow each other at random, as often as WEIGHTS says.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    chosen = random.Random(SEED)  # noqa: S311  no secret
    kinds = chosen.choices([*KINDS], [weight for weight, _ in KINDS.values()], k=num_rows)
    questions = [KINDS[kind][1](chosen) for kind in kinds]
    pq.write_table(pa.table({"id": range(num_rows), "kind": kinds, "question": questions}), path)
    return len({*questions})


def _sum(chosen: random.Random) -> str:
    return chosen.choice(SUMS).format(chosen.randrange(100), chosen.randrange(100))


def _difference(chosen: random.Random) -> str:
    larger = chosen.randrange(100)
    return chosen.choice(DIFFERENCES).format(larger, chosen.randrange(larger + 1))


def _product(chosen: random.Random) -> str:
    return chosen.choice(PRODUCTS).format(chosen.randrange(11), chosen.randrange(11))


def _about_a_place(chosen: random.Random) -> str:
    return chosen.choice(ABOUT_PLACES).format(chosen.choice(PLACES))


def _unknown(chosen: random.Random) -> str:
    return chosen.choice(UNKNOWN).format("".join(map(chosen.choice, (BEGINNINGS, MIDDLES, ENDS))))


KINDS: dict[str, tuple[int, Callable[[random.Random], str]]] = {
    "sum": (50, _sum),
    "difference": (30, _difference),
    "product": (5, _product),
    "place": (5, _about_a_place),
    "unknown": (10, _unknown),
}
"""How many of a hundred rows a kind has on average, and how its questions are made."""

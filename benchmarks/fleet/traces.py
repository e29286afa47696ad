"""Recorded and synthetic loads: when each request comes, and its lengths."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random

MAX_PROMPT, MAX_GENERATED = 4000, 1000


@dataclass(frozen=True)
class Request:
    """One request: its arrival in seconds after the first, and the tokens of its prompt and its answer."""

    arrives_at: float
    prompt: int
    generated: int


def recorded(path: Path) -> list[Request]:
    """The requests of a CSV file with the columns TIMESTAMP, ContextTokens and GeneratedTokens."""
    with path.open() as file:
        rows = [
            (datetime.fromisoformat(row["TIMESTAMP"][:26]), int(row["ContextTokens"]), int(row["GeneratedTokens"]))
            for row in csv.DictReader(file)
        ]
    began = rows[0][0]
    return [_request((at - began).total_seconds(), prompt, generated) for at, prompt, generated in rows]


def synthetic(seed: int, *, seconds: float, day_s: float, peak_rate: float) -> list[Request]:
    """Days of `day_s` seconds with nights almost without a request, and bursts at any time of the day.

    Requests come at random, `peak_rate` a second at noon. Every 100 s on average 10 to 40 more come within 2 s.
    """
    chooser = Random(seed)
    times = [*_waves(chooser, seconds, day_s, peak_rate), *_bursts(chooser, seconds)]
    return [
        _request(at, int(chooser.lognormvariate(6.2, 0.9)), int(chooser.lognormvariate(5.0, 0.8)))
        for at in sorted(times)
    ]


def _waves(chooser: Random, seconds: float, day_s: float, peak_rate: float) -> Iterator[float]:
    """Arrivals at a rate that is the square of a sine: least at midnight."""
    at = chooser.expovariate(peak_rate)
    while at < seconds:
        if chooser.random() < math.sin(math.pi * at / day_s) ** 4:
            yield at
        at += chooser.expovariate(peak_rate)


def _bursts(chooser: Random, seconds: float) -> Iterator[float]:
    at = chooser.expovariate(1 / 100)
    while at < seconds:
        yield from (at + chooser.uniform(0.0, 2.0) for _ in range(chooser.randint(10, 40)))
        at += chooser.expovariate(1 / 100)


def _request(at: float, prompt: int, generated: int) -> Request:
    return Request(at, max(1, min(prompt, MAX_PROMPT)), max(1, min(generated, MAX_GENERATED)))

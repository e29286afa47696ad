"""Selects the tools that fit a request."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

_SATURATION = 1.5
_LENGTH_WEIGHT = 0.75
_WORD = re.compile(r"\w{3,}")


def select_tools(
    query: str, tools: Sequence[dict[str, Any]], k: int, always: Collection[str] = ()
) -> list[dict[str, Any]]:
    """The `k` tools that fit `query` best, in the order in which they were given; all of them for k = 0.

    Tools named in `always` are kept whatever their score, and count. A tool is its name and description,
    scored by Okapi BM25 (k1 1.5, b 0.75) over lower-cased words of more than two letters; of equals the
    earlier is kept. Tools may have OpenAI's wrapper or not.
    """
    if k <= 0 or len(tools) <= k:
        return list(tools)
    scores = _scores(_words(query), [_words(_text(tool)) for tool in tools])
    order = sorted(range(len(tools)), key=lambda i: (_name(tools[i]) not in always, -scores[i], i))
    num_kept = max(k, sum(_name(tool) in always for tool in tools))
    return [tools[i] for i in sorted(order[:num_kept])]


def _scores(query: list[str], documents: list[list[str]]) -> list[float]:
    """BM25 with the idf that is never negative, ln(1 + (N - n + 0.5) / (n + 0.5))."""
    mean_length = sum(map(len, documents)) / len(documents) or 1.0
    num_holding = Counter(word for document in documents for word in set(document))
    scores = []
    for document in documents:
        counts = Counter(document)
        dampening = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * len(document) / mean_length)
        score = 0.0
        for word in set(query) & counts.keys():
            rarity = math.log(1 + (len(documents) - num_holding[word] + 0.5) / (num_holding[word] + 0.5))
            score += rarity * counts[word] * (_SATURATION + 1) / (counts[word] + dampening)
        scores.append(score)
    return scores


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("_", " "))


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    function = tool.get("function", tool)
    return function if isinstance(function, dict) else {}


def _name(tool: dict[str, Any]) -> str:
    return str(_function(tool).get("name", ""))


def _text(tool: dict[str, Any]) -> str:
    return f"{_name(tool)} {_function(tool).get('description') or ''}"

"""Thousands of different schemas and grammars: the caches for them stay within their limits."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.options import Options
from cactus_actors.structured import request_grammar as structured
from cactus_actors.structured.matcher import MAX_TEMPLATES, Matchers
from cactus_actors.text import load_text_model

pytestmark = pytest.mark.slow


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_ten_thousand_schemas_take_bounded_time_and_memory() -> None:
    text = load_text_model(resolve_model("cactus-sprout"))
    seconds: list[float] = []
    sizes: list[int] = []
    for number in range(10_000):
        schema = {
            "type": "object",
            "properties": {f"field {number}": {"enum": [f"{number}", number]}, "b": {"type": "integer"}},
            "required": ["b"],
        }
        began = time.thread_time()
        grammar = structured.compile_request(Options(json_schema=schema), text.tokenizer)
        seconds.append(time.thread_time() - began)
        if number % 1000 == 999:
            sizes.append(resident_bytes())
            assert structured.COMPILED.num_bytes <= structured.CACHE_BYTES
            assert str(number) in grammar
    first, last = sorted(seconds[:1000])[500], sorted(seconds[-1000:])[500]
    print(f"\nmedian {first * 1e3:.2f} ms of the first thousand, {last * 1e3:.2f} ms of the last; ", end="")
    print(f"{(sizes[-1] - sizes[2]) / 2**20:.1f} MiB more after 10,000 than after 3,000")
    assert last < 2 * first
    assert sizes[-1] - sizes[2] < 32 << 20


def test_a_worker_caches_few_of_many_grammars() -> None:
    text = load_text_model(resolve_model("cactus-sprout"))
    matchers = Matchers(text.tokenizer, text.eos_ids)
    sizes: list[int] = []
    for number in range(1500):
        grammar = structured.compile_request(Options(regex=f"(yes|no {number}) [a-z]{{3}}"), text.tokenizer)
        matchers(grammar).bitmask()
        assert len(matchers.templates) <= MAX_TEMPLATES
        if number % 500 == 499:
            sizes.append(resident_bytes())
    print(f"\n{(sizes[-1] - sizes[0]) / 2**20:.1f} MiB more after 1,500 grammars than after 500")
    assert sizes[-1] - sizes[0] < 32 << 20

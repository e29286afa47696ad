"""Closed-loop load on an OpenAI-compatible HTTP server: streamed completions of token-id prompts."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator, Sequence
from typing import Any

import httpx

from cactus_actors.cli.bench_service import FIRST_ORDINARY_ID, ServiceRecord, percentile

GREEDY = {"temperature": 0, "top_k": 1, "samplers": ["top_k"], "ignore_eos": True}
DATA, DONE = b"data: ", b"[DONE]"


class HttpLoad:
    """The measurements so far."""

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens
        self.first_token_ms: list[float] = []
        self.inter_token_ms: list[float] = []
        self.request_ms: list[float] = []

    async def request(self, client: httpx.AsyncClient, prompt: list[int]) -> None:
        """Stream one answer and record the times of its events; raises if tokens are missing."""
        started = before = time.perf_counter()
        is_first = True
        last: dict[str, Any] = {}
        asked = {
            "prompt": prompt,
            "max_tokens": self._max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            **GREEDY,
        }
        async with client.stream("POST", "/v1/completions", json=asked) as response:
            response.raise_for_status()
            async for event in events(response):
                now = time.perf_counter()
                if b'"usage":{' in event:
                    last = json.loads(event)
                    continue
                (self.first_token_ms if is_first else self.inter_token_ms).append(1000 * (now - before))
                is_first, before = False, now
        self.request_ms.append(1000 * (before - started))
        num_tokens = last["usage"]["completion_tokens"]
        assert num_tokens == self._max_tokens, f"{num_tokens} tokens of {self._max_tokens} came"


async def events(response: httpx.Response) -> Any:
    """The data of each server-sent event, as bytes."""
    rest = b""
    async for chunk in response.aiter_raw():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(DATA) and not line.startswith(DONE, len(DATA)):
                yield line[len(DATA) :]


async def bench_http(
    root: str,
    *,
    vocab_size: int,
    concurrency: int,
    requests: int,
    prompt_tokens: int,
    max_tokens: int,
    seed: int = 0,
    prefix: Sequence[int] = (),
) -> ServiceRecord:
    """Measure `requests` requests of random token ids after a common `prefix`, greedy, none ending early."""
    load = HttpLoad(max_tokens)
    prompts = _prompts(random.Random(seed), vocab_size, requests, prompt_tokens)
    limits = httpx.Limits(max_keepalive_connections=0)  # a server may close a connection just as it is used again
    async with httpx.AsyncClient(base_url=root, timeout=None, limits=limits) as client:

        async def send_requests() -> None:
            for prompt in prompts:
                await load.request(client, [*prefix, *prompt])

        started = time.perf_counter()
        await asyncio.gather(*(send_requests() for _ in range(concurrency)))
        seconds = time.perf_counter() - started
    return ServiceRecord(
        requests=requests,
        failed=0,
        concurrency=concurrency,
        seconds=seconds,
        prompt_tokens=requests * (len(prefix) + prompt_tokens),
        output_tokens=requests * max_tokens,
        output_tokens_per_second=requests * max_tokens / seconds,
        requests_per_second=requests / seconds,
        ttft_ms_p50=percentile(load.first_token_ms, 50),
        ttft_ms_p99=percentile(load.first_token_ms, 99),
        inter_token_ms_p50=percentile(load.inter_token_ms, 50),
        inter_token_ms_p99=percentile(load.inter_token_ms, 99),
        request_ms_p50=percentile(load.request_ms, 50),
        request_ms_p99=percentile(load.request_ms, 99),
    )


def _prompts(generator: random.Random, vocab_size: int, count: int, num_tokens: int) -> Iterator[list[int]]:
    for _ in range(count):
        yield generator.choices(range(FIRST_ORDINARY_ID, vocab_size), k=num_tokens)

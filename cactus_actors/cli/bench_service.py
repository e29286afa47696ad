"""Closed-loop load on a running service: a fixed number of concurrent requests."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Iterator, Sequence

import msgspec

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError, Unavailable
from cactus_actors.protocol.results import Result

FIRST_ORDINARY_ID = 300  # lower ids are control tokens and single bytes in most vocabularies


class ServiceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Measurements of a client; times in milliseconds from before sending.

    `inter_token_ms` is the time between two deltas of one stream.
    """

    requests: int
    failed: int
    concurrency: int
    seconds: float
    prompt_tokens: int
    output_tokens: int
    output_tokens_per_second: float
    requests_per_second: float
    ttft_ms_p50: float
    ttft_ms_p99: float
    inter_token_ms_p50: float
    inter_token_ms_p99: float
    request_ms_p50: float
    request_ms_p99: float


class ServiceLoad:
    """The measurements so far."""

    def __init__(self) -> None:
        self.first_token_ms: list[float] = []
        self.inter_token_ms: list[float] = []
        self.request_ms: list[float] = []
        self.results: list[Result] = []
        self.failed = 0
        self.last_error: CactusError | None = None

    async def request(self, client: AsyncClient, prompt: list[int | str], max_tokens: int) -> None:
        """Stream one answer and record the arrival times of its tokens."""
        started = before = time.perf_counter()
        is_first = True
        try:
            stream = client.stream(prompt, max_tokens=max_tokens, temperature=0, ignore_eos=True)
            async for _ in stream:
                now = time.perf_counter()
                (self.first_token_ms if is_first else self.inter_token_ms).append(1000 * (now - before))
                is_first, before = False, now
            self.results.append(await stream.result())
        except Unavailable:
            raise
        except CactusError as error:
            self.failed += 1
            self.last_error = error
            return
        self.request_ms.append(1000 * (time.perf_counter() - started))


async def bench_service(
    endpoint: str,
    stream_endpoint: str | None,
    *,
    concurrency: int,
    requests: int,
    prompt_tokens: int,
    max_tokens: int,
    seed: int = 0,
    prefix: Sequence[int] = (),
) -> ServiceRecord:
    """Measure `requests` requests of distinct random prompts after a common `prefix`, greedy, of full length.

    Raises the last error if none succeeded.
    """
    load = ServiceLoad()
    async with AsyncClient(endpoint, stream_endpoint) as client:
        vocab_size = (await client.status()).vocab_size
        prompts = _prompts(random.Random(seed), vocab_size, requests, prompt_tokens)  # noqa: S311

        async def send_requests() -> None:
            for prompt in prompts:
                await load.request(client, [*prefix, *prompt], max_tokens)

        started = time.perf_counter()
        await asyncio.gather(*(send_requests() for _ in range(concurrency)))
        seconds = time.perf_counter() - started
    if not load.results and load.last_error is not None:
        raise load.last_error
    output_tokens = sum(result.usage.completion_tokens for result in load.results)
    return ServiceRecord(
        requests=requests,
        failed=load.failed,
        concurrency=concurrency,
        seconds=seconds,
        prompt_tokens=sum(result.usage.prompt_tokens for result in load.results),
        output_tokens=output_tokens,
        output_tokens_per_second=output_tokens / seconds,
        requests_per_second=len(load.results) / seconds,
        ttft_ms_p50=percentile(load.first_token_ms, 50),
        ttft_ms_p99=percentile(load.first_token_ms, 99),
        inter_token_ms_p50=percentile(load.inter_token_ms, 50),
        inter_token_ms_p99=percentile(load.inter_token_ms, 99),
        request_ms_p50=percentile(load.request_ms, 50),
        request_ms_p99=percentile(load.request_ms, 99),
    )


def _prompts(generator: random.Random, vocab_size: int, count: int, num_tokens: int) -> Iterator[list[int | str]]:
    ids = range(min(FIRST_ORDINARY_ID, vocab_size // 2), vocab_size)
    for _ in range(count):
        yield list(generator.choices(ids, k=num_tokens))


def percentile(values: Sequence[float], percent: int) -> float:
    """The interpolated percentile of `values`; 0 if there are none."""
    match len(values):
        case 0:
            return 0.0
        case 1:
            return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]

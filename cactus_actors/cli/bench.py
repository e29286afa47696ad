"""`cactus bench`: measures the engine in this process, or a running service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec
import typer

from cactus_actors.cli.completion import model_names
from cactus_actors.cli.shared_options import AsJson
from cactus_actors.cli.terminal import print_json
from cactus_actors.config_models import CacheFormat, WeightFormat
from cactus_actors.protocol.errors import ConfigurationInvalid


def bench(
    model: Annotated[
        str | None,
        typer.Option(
            help="Embedded model name, directory, GGUF file, or owner/name on the hub.", autocompletion=model_names
        ),
    ] = None,
    random: Annotated[
        str | None, typer.Option(help="Random weights instead, such as llama:hidden=64,... (FAMILY:KEY=N,KEY=N)")
    ] = None,
    weights: Annotated[WeightFormat, typer.Option(help="Format of the weights in memory.")] = "int8",
    kv_cache: Annotated[CacheFormat, typer.Option(help="Format of the KV cache.")] = "auto",
    threads: Annotated[int, typer.Option(min=1, help="Threads of the kernels.")] = 1,
    batch: Annotated[str, typer.Option(help="Batch sizes to measure.")] = "1,4,16",
    prompt_tokens: Annotated[int, typer.Option(min=1, help="Tokens of each prompt.")] = 128,
    decode_tokens: Annotated[int, typer.Option(min=1, help="Tokens that each sequence generates.")] = 48,
    endpoint: Annotated[str | None, typer.Option(help="Measure the service at tcp://HOST:PORT instead.")] = None,
    stream_endpoint: Annotated[str | None, typer.Option(help="Its stream endpoint, if not the next port.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at once; with --endpoint.")] = 16,
    requests: Annotated[int, typer.Option(min=1, help="Requests in all; with --endpoint.")] = 64,
    as_json: AsJson = False,
) -> None:
    """Measure the engine in this process, or with --endpoint a running service.

    Example: cactus bench --model cactus-sprout --batch 1,4,16 --threads 2 --json

    Example: cactus bench --endpoint tcp://127.0.0.1:5555 --concurrency 16 --requests 64 --json
    """
    if endpoint is not None:
        if model is not None or random is not None:
            raise ConfigurationInvalid("--endpoint measures what is served there; leave --model and --random out")
        import asyncio

        from cactus_actors.cli.bench_service import bench_service

        measured = bench_service(
            endpoint,
            stream_endpoint,
            concurrency=concurrency,
            requests=requests,
            prompt_tokens=prompt_tokens,
            max_tokens=decode_tokens,
        )
        _print_records([asyncio.run(measured)], as_json=as_json)
        return
    if model is not None and random is not None:
        raise ConfigurationInvalid("give one of --model and --random")

    from cactus_actors.config_models import DEFAULT_MODEL
    from cactus_actors.workers.engine_bench import run_bench

    records = run_bench(
        model=model or (None if random else DEFAULT_MODEL),
        random=random,
        weights=weights,
        kv_cache=kv_cache,
        threads=threads,
        batches=_sizes(batch),
        prompt_tokens=prompt_tokens,
        decode_tokens=decode_tokens,
    )
    _print_records(records, as_json=as_json)


def _print_records(records: Iterable[object], *, as_json: bool) -> None:
    for record in records:
        if as_json:
            print_json(record)
            continue
        for name, value in msgspec.to_builtins(record).items():
            shown = f"{value:.2f}" if isinstance(value, float) else value
            typer.echo(f"{name.replace('_', ' '):32}{shown}")
        typer.echo()


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(size) for size in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise ConfigurationInvalid(f"--batch takes sizes such as 1,4,16, got {text!r}", param="batch")
    return sizes

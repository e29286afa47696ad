"""`cactus serve`: the whole service in the foreground, until a signal ends it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from cactus_actors.config import (
    CacheFormat,
    LogFormat,
    PlacementName,
    ServeConfig,
    WeightFormat,
    make_config,
    read_config_file,
)

DEFAULTS = ServeConfig()
MAX_MESSAGE = 2000

# Options under a heading of the help.
_of_model = partial(typer.Option, rich_help_panel="Model")
_of_workers = partial(typer.Option, rich_help_panel="Workers")
_of_http = partial(typer.Option, rich_help_panel="HTTP")
_of_zeromq = partial(typer.Option, rich_help_panel="ZeroMQ")
_of_state = partial(typer.Option, rich_help_panel="State and logs")

if TYPE_CHECKING:
    from cactus_actors.cluster.phases import ShowPhase
    from cactus_actors.cluster.service import Service


def serve(
    model: Annotated[
        str | None,
        _of_model(
            help="Embedded model name, a directory, a GGUF file, or owner/name[:file.gguf] on the hub.",
            show_default=DEFAULTS.model,
        ),
    ] = None,
    chat_template: Annotated[
        Path | None,
        _of_model(metavar="FILE", help="A Jinja chat template, for a model that has none, or another one."),
    ] = None,
    tool_format: Annotated[
        str | None,
        _of_model(metavar="NAME", help="How the model writes tool calls; docs/reference/models.md has the names."),
    ] = None,
    weights: Annotated[
        WeightFormat | None,
        _of_model(help="How weights are held in memory.", show_default=DEFAULTS.weights),
    ] = None,
    kv_cache: Annotated[
        CacheFormat | None,
        _of_model(help="How keys and values are held in memory.", show_default=DEFAULTS.kv_cache),
    ] = None,
    workers: Annotated[
        int | None,
        _of_workers(min=0, help="Model workers to keep alive.", show_default=str(DEFAULTS.workers)),
    ] = None,
    threads: Annotated[
        int | None, _of_workers(min=1, help="Threads of each worker.", show_default=str(DEFAULTS.threads))
    ] = None,
    speculate: Annotated[
        int | None,
        _of_model(
            min=0,
            help="Tokens that a sequence may guess ahead from its own text; changes no token.",
            show_default=str(DEFAULTS.speculation),
        ),
    ] = None,
    jobs_endpoint: Annotated[
        str | None, _of_zeromq(help="Where clients submit jobs.", show_default=DEFAULTS.jobs_endpoint)
    ] = None,
    stream_endpoint: Annotated[
        str | None, _of_zeromq(help="Where tokens are published.", show_default=DEFAULTS.stream_endpoint)
    ] = None,
    workers_endpoint: Annotated[
        str | None, _of_zeromq(help="Where workers report; an address of this machine on a cluster.")
    ] = None,
    http: Annotated[str | None, _of_http(help="HOST:PORT of the HTTP gateway.", show_default=DEFAULTS.http)] = None,
    no_http: Annotated[bool, _of_http("--no-http", help="Serve without the HTTP gateway.")] = False,
    api_key_file: Annotated[
        Path | None,
        _of_http(help="API keys, one a line; CACTUS_API_KEYS holds more, by commas. See docs/reference/http.md."),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        _of_http(help="Certificate chain of the HTTP gateway, PEM; read again when it changes."),
    ] = None,
    tls_key: Annotated[Path | None, _of_http(help="The certificate's private key, PEM.")] = None,
    behind_proxy: Annotated[
        bool | None,
        _of_http("--behind-proxy", help="A proxy in front has TLS; without either, HTTP stays on loopback."),
    ] = None,
    alias: Annotated[str | None, _of_http(help="The name that HTTP clients see the model under.")] = None,
    curve: Annotated[
        bool | None,
        _of_zeromq(
            "--curve/--no-curve",
            help="Ask ZeroMQ connections for a key of `cactus keys`, and encrypt them; needed off loopback.",
        ),
    ] = None,
    worker_key_file: Annotated[
        Path | None,
        _of_zeromq(help="Where workers on other machines have their key; the same path on each."),
    ] = None,
    corpus: Annotated[
        Path | None,
        _of_model(help="A directory of documents; what fits a question goes into its prompt."),
    ] = None,
    state_dir: Annotated[
        Path | None,
        _of_state(help="Where the service keeps its own files.", show_default=str(DEFAULTS.state_dir)),
    ] = None,
    journal: Annotated[
        bool | None,
        _of_state("--journal/--no-journal", help="Keep accepted jobs on disk, so that they survive a restart."),
    ] = None,
    drain_timeout: Annotated[
        float | None,
        _of_state(
            min=0,
            help="Seconds that running jobs have when the service is stopped.",
            show_default=f"{DEFAULTS.drain_timeout_s:g}",
        ),
    ] = None,
    ready_timeout: Annotated[
        float | None,
        _of_state(
            min=0.001,
            help="Seconds for which a start may stand still; nodes of a cluster may boot for minutes.",
            show_default=f"{DEFAULTS.ready_timeout_s:g}",
        ),
    ] = None,
    job_log: Annotated[
        str | None,
        _of_state(
            help="File that gets a line of each ended job; - is standard error, none is no log.",
            show_default="STATE_DIR/jobs.jsonl",
        ),
    ] = None,
    log_format: Annotated[
        LogFormat | None,
        _of_state(help="How standard error says what becomes of the service.", show_default=DEFAULTS.log_format),
    ] = None,
    otlp_endpoint: Annotated[
        str | None,
        _of_state(help="OpenTelemetry collector, http://HOST:4318; it gets a span of each job."),
    ] = None,
    placement: Annotated[
        PlacementName | None,
        _of_workers(
            help="Actors are processes of this command (local), or placed by Ray.",
            show_default="ray with --ray-address, else local",
        ),
    ] = None,
    ray_address: Annotated[
        str | None,
        _of_workers(help="Where a Ray cluster is; --placement ray without it starts a private one."),
    ] = None,
    config: Annotated[Path | None, _of_state(help="TOML file of these settings; flags win.")] = None,
) -> None:
    """Start the router, the workers, the handoff actor and the HTTP gateway, and print one `ready` line.

    Example: cactus serve --model HuggingFaceTB/SmolLM2-135M-Instruct

    Example: cactus serve --workers 2 --http 127.0.0.1:8080 --config cactus.toml
    """
    flags: dict[str, object] = {
        "model": model,
        "chat_template": None if chat_template is None else str(chat_template),
        "tool_format": tool_format,
        "weights": weights,
        "kv_cache": kv_cache,
        "workers": workers,
        "threads": threads,
        "speculation": speculate,
        "jobs_endpoint": jobs_endpoint,
        "stream_endpoint": stream_endpoint,
        "workers_endpoint": workers_endpoint,
        "http": "" if no_http else http,
        "api_key_file": None if api_key_file is None else str(api_key_file),
        "tls_cert": None if tls_cert is None else str(tls_cert),
        "tls_key": None if tls_key is None else str(tls_key),
        "behind_proxy": behind_proxy,
        "alias": alias,
        "curve": curve,
        "worker_key_file": None if worker_key_file is None else str(worker_key_file),
        "corpus": None if corpus is None else str(corpus),
        "state_dir": None if state_dir is None else str(state_dir),
        "journal": journal,
        "drain_timeout_s": drain_timeout,
        "ready_timeout_s": ready_timeout,
        "job_log": job_log,
        "log_format": log_format,
        "otlp_endpoint": otlp_endpoint,
        "placement": placement,
        "ray_address": ray_address,
    }
    run_service(make_config(read_config_file(config) if config else {}, flags))


def _refuse_after(service: Service, stop: threading.Event) -> None:
    stop.wait()
    service.refuse()


def run_service(config: ServeConfig) -> None:
    """Serve until SIGINT or SIGTERM, then let what runs finish; a second signal ends it at once."""
    announce = _say_with_time if config.log_format == "text" else _say_as_json
    stdout = sys.stdout

    def tell(line: str) -> None:
        print(line, file=stdout, flush=True)

    _run_service(config, announce, tell)


def _run_service(config: ServeConfig, announce: Callable[[str], None], tell: Callable[[str], None]) -> None:
    from cactus_actors.cluster.service import Service

    stop = threading.Event()

    def on_signal(number: int, _: FrameType | None) -> None:
        if stop.is_set():  # nothing is waited for: whatever was started ends with this process
            os._exit(128 + number)
        stop.set()

    def on_early_signal(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)  # an interrupted start cleans up by its exception

    signal.signal(signal.SIGTERM, on_early_signal)
    with _start_display(config) as show_phase:
        service = Service(config, announce, log_line=_say, show_phase=show_phase)
        service.start()
    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    endpoints = service.endpoints
    listening = f"jobs={endpoints.jobs} stream={endpoints.stream}"
    if service.http:
        scheme = "http" if config.tls_cert is None else "https"
        listening += f" http={scheme}://{service.http}"
    tell(f"ready {listening} model={service.model_name} workers={config.workers}")
    # Beside whatever the tending waits for just then.
    threading.Thread(target=_refuse_after, args=(service, stop), daemon=True).start()
    try:
        service.tend(stop)
        tell("stopping: what runs may finish; a second signal does not wait for it")
        is_drained = service.drain(config.drain_timeout_s)
    finally:
        service.stop()
    tell("stopped" if is_drained else f"stopped with work left after {config.drain_timeout_s:g} s")


@contextlib.contextmanager
def _start_display(config: ServeConfig) -> Iterator[ShowPhase | None]:
    """Bars where somebody looks at a terminal; None, and so lines, elsewhere."""
    if config.log_format == "json" or not sys.stderr.isatty():
        yield None
        return
    from cactus_actors.cli.start_display import StartDisplay

    with StartDisplay() as display:
        yield display


def _say(line: str) -> None:
    """One line on standard error, whole though several threads speak."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _say_with_time(message: str) -> None:
    _say(f"{time.strftime('%H:%M:%S')} {message}")


def _say_as_json(message: str) -> None:
    from cactus_actors.router.books.job_log import timestamp

    line = {
        "ts": timestamp(time.time()),
        "level": "info",
        "event": "service",
        "message": message[:MAX_MESSAGE],
    }
    _say(msgspec.json.encode(line).decode())

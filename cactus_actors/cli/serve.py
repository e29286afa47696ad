"""`cactus serve`: runs a service in the foreground until a signal."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from cactus_actors.cli.completion import model_names
from cactus_actors.cli.config_file import config_of
from cactus_actors.cli.setting_options import (
    MODEL,
    STATE,
    ConfigFile,
    KvCache,
    Mmproj,
    Speculation,
    Weights,
    numbers_of,
    setting,
)
from cactus_actors.config import LogFormat, OnOrOff, Pinning, PlacementName, ServeConfig
from cactus_actors.config_fields import config_fields
from cactus_actors.config_scaling import worker_range
from cactus_actors.protocol.errors import ConfigurationInvalid

if TYPE_CHECKING:
    from cactus_actors.fleet.start_phases import ShowPhase

MAX_MESSAGE = 2000

_WORKERS, _HTTP, _ZEROMQ = "Workers", "HTTP", "ZeroMQ"


def _workers(text: str | None) -> str | None:
    try:
        worker_range(text or "1")
    except ConfigurationInvalid as error:
        raise typer.BadParameter(error.message) from None
    return text


def serve(
    model: Annotated[str | None, setting(MODEL, "model", completed_by=model_names)] = None,
    mmproj: Mmproj = None,
    chat_template: Annotated[Path | None, setting(MODEL, "chat_template", metavar="FILE")] = None,
    tool_format: Annotated[str | None, setting(MODEL, "tool_format", metavar="NAME")] = None,
    lora: Annotated[list[str] | None, setting(MODEL, "lora", metavar="NAME=PATH")] = None,
    weights: Weights = None,
    kv_cache: KvCache = None,
    workers: Annotated[str | None, setting(_WORKERS, "workers", metavar="N|LEAST:MOST", check=_workers)] = None,
    threads: Annotated[int | None, setting(_WORKERS, "threads")] = None,
    pin: Annotated[Pinning | None, setting(_WORKERS, "pin")] = None,
    speculation: Speculation = None,
    jobs_endpoint: Annotated[str | None, setting(_ZEROMQ, "jobs_endpoint", metavar="ENDPOINT")] = None,
    stream_endpoint: Annotated[str | None, setting(_ZEROMQ, "stream_endpoint", metavar="ENDPOINT")] = None,
    workers_endpoint: Annotated[str | None, setting(_ZEROMQ, "workers_endpoint", metavar="ENDPOINT")] = None,
    http: Annotated[str | None, setting(_HTTP, "http", metavar="HOST:PORT")] = None,
    no_http: Annotated[
        bool, typer.Option("--no-http", rich_help_panel=_HTTP, help="Serve without the HTTP gateway.")
    ] = False,
    ollama: Annotated[str | None, setting(_HTTP, "ollama", default="none", metavar="HOST:PORT")] = None,
    api_key_file: Annotated[Path | None, setting(_HTTP, "api_key_file")] = None,
    tls_cert: Annotated[Path | None, setting(_HTTP, "tls_cert")] = None,
    tls_key: Annotated[Path | None, setting(_HTTP, "tls_key")] = None,
    behind_proxy: Annotated[bool | None, setting(_HTTP, "behind_proxy", "--behind-proxy")] = None,
    alias: Annotated[str | None, setting(_HTTP, "alias")] = None,
    page: Annotated[OnOrOff | None, setting(_HTTP, "page")] = None,
    curve: Annotated[bool | None, setting(_ZEROMQ, "curve", "--curve/--no-curve")] = None,
    worker_key_file: Annotated[Path | None, setting(_ZEROMQ, "worker_key_file")] = None,
    corpus: Annotated[Path | None, setting(MODEL, "corpus")] = None,
    image_root: Annotated[Path | None, setting(MODEL, "image_root")] = None,
    image_hosts: Annotated[
        list[str] | None, setting(MODEL, "image_hosts", "--image-host", default="none", metavar="HOST")
    ] = None,
    state_dir: Annotated[Path | None, setting(STATE, "state_dir")] = None,
    journal: Annotated[bool | None, setting(STATE, "journal", "--journal/--no-journal")] = None,
    drain_timeout_s: Annotated[float | None, setting(STATE, "drain_timeout_s", "--drain-timeout")] = None,
    ready_timeout_s: Annotated[float | None, setting(STATE, "ready_timeout_s", "--ready-timeout")] = None,
    job_log: Annotated[str | None, setting(STATE, "job_log", default="jobs.jsonl in STATE_DIR", metavar="FILE")] = None,
    log_format: Annotated[LogFormat | None, setting(STATE, "log_format")] = None,
    otlp_endpoint: Annotated[str | None, setting(STATE, "otlp_endpoint")] = None,
    placement: Annotated[
        PlacementName | None, setting(_WORKERS, "placement", default="ray with --ray-address, else local")
    ] = None,
    ray_address: Annotated[str | None, setting(_WORKERS, "ray_address")] = None,
    config: ConfigFile = None,
) -> None:
    """Start the router, the workers, the HTTP gateway and, with a cloud, the handoff actor; print one `ready` line.

    Example: cactus serve --model HuggingFaceTB/SmolLM2-135M-Instruct

    Example: cactus serve --workers 1:8 --http 127.0.0.1:8080 --config cactus.toml
    """
    given: dict[str, object] = locals() | {"lora": lora or None}
    flags = {name: given[name] for name in config_fields(ServeConfig) if name in given}
    if no_http:
        flags["http"] = ""
    run_service(config_of(config, flags | numbers_of({"speculation": speculation, "workers": workers})))


def run_service(config: ServeConfig) -> None:
    """Serve until SIGINT or SIGTERM, then let running jobs finish; a second signal ends the process immediately."""
    from cactus_actors.service.service import Service

    announce = _print_with_time if config.log_format == "text" else _print_as_json
    stdout = sys.stdout

    def print_line(line: str) -> None:
        print(line, file=stdout, flush=True)

    stop = threading.Event()

    def on_signal(number: int, _: FrameType | None) -> None:
        if stop.is_set():  # all actors end with this process
            os._exit(128 + number)
        stop.set()

    def on_early_signal(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)  # the exception cleans up an interrupted start

    signal.signal(signal.SIGTERM, on_early_signal)
    with _start_display(config) as show_phase:
        os.umask(0o077)  # all files of a service are private to this user, databases too
        service = Service(config, announce, log_line=_print_line, show_phase=show_phase)
        service.start()
    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    endpoints = service.endpoints
    listening = f"jobs={endpoints.jobs} stream={endpoints.stream}"
    if service.http:
        scheme = "http" if config.tls_cert is None else "https"
        listening += f" http={scheme}://{service.http}"
    print_line(f"ready {listening} model={service.model_name} workers={service.num_workers}")

    def refuse_at_the_end() -> None:
        stop.wait()
        service.refuse()

    threading.Thread(target=refuse_at_the_end, daemon=True).start()  # supervision may be blocked in a call
    try:
        service.reconcile(stop)
        print_line("stopping: running jobs may finish; a second signal does not wait for them")
        is_drained = service.drain(config.drain_timeout_s)
    finally:
        service.stop()
    print_line("stopped" if is_drained else f"stopped with work left after {config.drain_timeout_s:g} s")


def _start_display(config: ServeConfig) -> AbstractContextManager[ShowPhase | None]:
    """Progress bars on a terminal; None, for plain lines, elsewhere."""
    if config.log_format == "json" or not sys.stderr.isatty():
        return contextlib.nullcontext()
    from cactus_actors.cli.start_display import StartDisplay

    return StartDisplay()


def _print_line(line: str) -> None:
    """Write one line to standard error, atomically for several threads."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _print_with_time(message: str) -> None:
    _print_line(f"{time.strftime('%H:%M:%S')} {message}")


def _print_as_json(message: str) -> None:
    from cactus_actors.router.telemetry.job_log import timestamp

    line = {
        "ts": timestamp(time.time()),
        "level": "info",
        "event": "service",
        "message": message[:MAX_MESSAGE],
    }
    _print_line(msgspec.json.encode(line).decode())

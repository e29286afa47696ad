"""One service asked over ZeroMQ and over HTTP, in turns; then the gateway's memory for waiting streams.

python -m benchmarks.gateway --json gateway.json

The load is that of benchmarks.service_peers: requests of 128 random tokens, 64 back, greedy, streamed, 16 at
a time, then one client alone. The measuring client runs on the same cores as the service; HTTP's is httpx.
For memory, 1,000 requests are streamed that wait for a slot, and the gateway's resident memory is read before
and while they wait.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.peers import FOLDER, WIDTH
from benchmarks.quiet import Quiet
from benchmarks.random_gguf import FORMATS, SHAPES, random_gguf
from benchmarks.server_process import CactusService, cactus_serve, end_servers_on_signal
from benchmarks.service_peers import COLUMNS, ServiceFigure, ask_cactus, ask_http, measure

ZEROMQ, HTTP = "ZeroMQ", "HTTP"
IDLE_STREAMS = 1000
SETTLE_S = 3.0


def table_of(figures: list[ServiceFigure], title: str) -> Table:
    """A line per protocol and load, with HTTP's tokens per second as a share of ZeroMQ's."""
    table = Table(title=title)
    for name in ("", "", *COLUMNS.values(), "HTTP / ZeroMQ", "client's core", "others"):
        table.add_column(name, justify="right")
    for figure in figures:
        shares = shares_of(figures, figure.load)
        table.add_row(
            figure.load,
            figure.side,
            *(f"{figure.median(column):,.1f}" for column in COLUMNS),
            f"{statistics.median(shares):.3f}" if figure.side == HTTP else "",
            f"{statistics.median(figure.client_share):.0%}",
            f"{max(figure.others):.0%}",
        )
    return table


def shares_of(figures: list[ServiceFigure], load: str) -> list[float]:
    """HTTP's tokens per second as a share of ZeroMQ's, per round."""
    rounds = {figure.side: figure.rounds for figure in figures if figure.load == load}
    column = "output_tokens_per_second"
    return [
        over_http[column] / over_zeromq[column]
        for over_http, over_zeromq in zip(rounds[HTTP], rounds[ZEROMQ], strict=True)
    ]


async def memory_of_idle_streams(service: CactusService, num_streams: int) -> tuple[float, float]:
    """The gateway's resident megabytes without and with this number of waiting streams."""
    pid = gateway_pid(service.pid)
    before = resident_mb(pid)
    host, port = service.http.removeprefix("http://").split(":")
    body = msgspec.json.encode({"prompt": [300] * 16, "max_tokens": 128, "ignore_eos": True, "stream": True})
    head = (
        f"POST /v1/completions HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    writers = []
    for _ in range(num_streams):
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(head.encode() + body)
        writers.append(writer)
    await asyncio.sleep(SETTLE_S)
    during = resident_mb(pid)
    for writer in writers:
        writer.close()
    return before, during


def gateway_pid(root: int) -> int:
    """The process id of the gateway among the descendants of a service."""
    parents: dict[int, int] = {}
    gateways = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if (path / "cmdline").read_bytes().startswith(b"ray::GatewayActor"):
                gateways.append(int(path.name))
        except OSError:
            continue

    def descends(pid: int) -> bool:
        return pid == root or (pid in parents and descends(parents[pid]))

    (pid,) = (gateway for gateway in gateways if descends(gateway))
    return pid


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="A")
    parser.add_argument("--format", choices=FORMATS, default="Q8_0")
    parser.add_argument("--weights", default="int8")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=float, default=300, help="seconds to wait in total for an idle machine")
    parser.add_argument("--streams", type=int, default=IDLE_STREAMS)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    end_servers_on_signal()
    model = random_gguf(arguments.shape, arguments.format)
    options = ["--model", str(model), "--weights", arguments.weights, "--workers", "1"]
    options += ["--threads", str(arguments.threads), "--http", "127.0.0.1:0"]
    with cactus_serve(options, FOLDER.parent) as service:
        time.sleep(1)
        asks = {
            ZEROMQ: ask_cactus(service.jobs, service.stream),
            HTTP: ask_http(service.http, SHAPES[arguments.shape].vocab),
        }
        figures = measure(asks, arguments.rounds, Quiet(arguments.patience))
        before, during = asyncio.run(memory_of_idle_streams(service, arguments.streams))
    console = Console(width=WIDTH)
    console.print(table_of(figures, f"{model.name}, {arguments.weights}, {arguments.threads} threads"))
    console.print(f"{arguments.streams} idle streams: {before:.0f} -> {during:.0f} MB resident")
    if arguments.json:
        saved: dict[str, Any] = {"figures": figures, "idle_mb": [before, during]}
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(saved)))


if __name__ == "__main__":
    main()

"""Processor seconds of short commands and of a client's start: `python -m benchmarks.client_start`.

Each is the median of some processes, from their start to their end, beside that of an interpreter that does nothing.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.server_process import cactus_serve, end_servers_on_signal

CHECKOUT = Path(__file__).parents[1]
CLIENT = "from cactus_actors import Client; Client({!r}).close()"
COMMAND = ["-m", "cactus_actors.cli"]


def cpu_s(arguments: list[str], rounds: int) -> float:
    """The median processor seconds of an interpreter with these arguments."""
    seconds = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=os.environ)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    end_servers_on_signal()
    table = Table("", "CPU s")
    with cactus_serve([], CHECKOUT, {}) as service:
        connection = ["--endpoint", service.jobs, "--stream-endpoint", service.stream]
        for name, arguments in {
            "python": ["-c", "pass"],
            "a Client": ["-c", CLIENT.format(service.jobs)],
            "cactus --help": [*COMMAND, "--help"],
            "cactus complete": [*COMMAND, "complete", "What is 1 plus 2?", *connection],
        }.items():
            table.add_row(name, f"{cpu_s(arguments, rounds):.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()

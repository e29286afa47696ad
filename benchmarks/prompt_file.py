"""A prompt file of short prompts through a service, beside the engine alone: `python -m benchmarks.prompt_file --help`.

Both sides answer the same prompts to the same number of tokens and use all cores; they take turns. The time of the
command contains its start and its end.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from benchmarks.engine_alone import MODEL, engine_alone
from benchmarks.quiet import tree_seconds
from benchmarks.server_process import CactusService, cactus_serve, end_servers_on_signal

THREADS = 2
ROOT = Path(__file__).parent.parent


def prompts(num_lines: int, round_number: int) -> list[str]:
    """Sums, others in each round: none is found in the cache."""
    return [f"{round_number * num_lines + number} + {number % 7} =" for number in range(num_lines)]


def run_file(texts: list[str], max_tokens: int, service: CactusService, folder: Path) -> float:
    """Seconds of `cactus batch` for a file of these prompts."""
    source, output = folder / "prompts.jsonl", folder / f"results-{time.monotonic_ns()}.jsonl"
    lines = [
        {"custom_id": str(number), "prompt": text, "max_tokens": max_tokens, "ignore_eos": True}
        for number, text in enumerate(texts)
    ]
    source.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    command = [sys.executable, "-m", "cactus_actors.cli", "batch", str(source), "-o", str(output)]
    command += ["--endpoint", service.jobs, "--stream-endpoint", service.stream]
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.perf_counter() - began
    assert len(output.read_bytes().splitlines()) == len(texts)
    return seconds


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--max-tokens", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    end_servers_on_signal()
    options = ["--model", MODEL, "--workers", "1", "--no-http"]
    with tempfile.TemporaryDirectory() as name, cactus_serve(options, ROOT) as service:
        engine_alone(prompts(64, 0), given.max_tokens, threads=THREADS)
        run_file(prompts(64, 0), given.max_tokens, service, Path(name))
        ratios = []
        for number in range(1, given.rounds + 1):
            texts = prompts(given.lines, number)
            own = engine_alone(texts, given.max_tokens, threads=THREADS)
            before = tree_seconds(service.pid)
            its_s = run_file(texts, given.max_tokens, service, Path(name))
            actors_ms = 1000 * (tree_seconds(service.pid) - before) / given.lines
            ratios.append(own.wall_s / its_s)
            print(f"engine {given.lines / own.wall_s:.0f} prompts/s, the file {given.lines / its_s:.0f}, ", end="")
            print(f"{ratios[-1]:.2f} of it; {actors_ms:.2f} ms of the service's processor time a prompt")
    low, high = min(ratios), max(ratios)
    print(f"{given.rounds} rounds of {given.lines} prompts: {statistics.median(ratios):.2f} of the engine's own rate")
    print(f"(median; {low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()

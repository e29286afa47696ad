"""This engine and others in one run: the same model, threads and load, in turns.

python -m benchmarks.peers --shape A --format Q8_0 --llama-python ../llama-venv/bin/python --json peers.json

llama.cpp is reached through llama-cpp-python, OpenVINO GenAI (with --openvino-model) and vLLM (with --vllm-python)
through their Python packages; each may live in an environment of its own. vLLM has the same shape with weights of 8
bits and activations of 8 bits (random_w8a8.py). All engines hold their model in memory the whole time and
take turns, one measuring while the others sleep. A figure is the median of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.memory_bandwidth import read_bandwidth
from benchmarks.quiet import Quiet
from benchmarks.random_gguf import FORMATS, SHAPES, random_gguf, weight_bytes
from benchmarks.random_w8a8 import random_w8a8
from benchmarks.side import Side, SideFailed

FOLDER = Path(__file__).parent
WIDTH = 130
REST_S = 0.3  # threads of the engine that measured last go to sleep
WEIGHTS_OF_FORMAT = {"Q8_0": "int8", "Q4_0": "int4"}
VLLM_ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "2",  # GiB
    "VLLM_CPU_NUM_OF_RESERVED_CPU": "0",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
}
LLAMA_CPP_MISSING = """\
{python} cannot import llama_cpp. In an environment of its own:
  python -m venv llama-venv
  CMAKE_ARGS="-DGGML_NATIVE=ON" llama-venv/bin/pip install --no-binary llama-cpp-python llama-cpp-python
then give --llama-python llama-venv/bin/python"""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table: the measurement, and the unit of its result."""

    key: str
    title: str
    measurement: str
    arguments: dict[str, Any]
    in_ms: bool = False


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one side for one row, per round; `others` is the share of the cores that other processes took."""

    row: str
    side: str
    values: list[float]
    others: list[float]

    @property
    def median(self) -> float:
        """The value that is shown: tokens/s, or milliseconds."""
        return statistics.median(self.values)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """All results of one run."""

    model: str
    weights: str
    weight_bytes: int
    threads: int
    kernels: dict[str, str]
    read_bandwidth: list[float]  # bytes per second, measured between the rounds of the first decode row
    rows: list[Row]
    figures: list[Figure]


def rows_of(batches: Sequence[int], long_context: int, wanted: Sequence[str]) -> list[Row]:
    """The lines of the table, in order."""
    prompt = {"prompt_tokens": 128}
    new = {"decode_tokens": 48, "repeated": False}
    kept = {"decode_tokens": 48, "repeated": True}
    prefix = {"prefix_tokens": 1000, "suffix_tokens": 16}
    rows = [
        Row(
            key="prefill",
            title="prefill 16 x 128, tokens/s",
            measurement="prefill",
            arguments={"batch": 16, **prompt},
        )
    ]
    rows += [
        Row(
            key=f"decode-{batch}",
            title=f"decode, batch {batch}, tokens/s",
            measurement="decode",
            arguments={"batch": batch, **prompt, **new},
        )
        for batch in batches
    ]
    rows += [
        Row(
            key=f"context-{context}",
            title=f"decode, batch 8, after {context} tokens, tokens/s",
            measurement="decode",
            arguments={"batch": 8, "prompt_tokens": context, **kept},
        )
        for context in (128, long_context)
    ]
    rows += [
        Row(
            key=f"prefix-{name}",
            title=f"first token of 1016, {name}, ms",
            measurement="first_token",
            arguments={**prefix, "cached": name == "cached"},
            in_ms=True,
        )
        for name in ("new", "cached")
    ]
    return [row for row in rows if row.key.split("-")[0] in wanted]


def measure_row(
    sides: Sequence[Side], row: Row, num_rounds: int, quiet: Quiet, bandwidths: list[float], threads: int
) -> list[Figure]:
    """Measure all sides in turn, round after round, after one warm-up round."""
    is_repeated = row.arguments.get("repeated", False)
    figures = {side.name: Figure(row=row.key, side=side.name, values=[], others=[]) for side in sides}
    for round_number in range(num_rounds + 1):
        seed = 0 if is_repeated else round_number
        for side in sides:
            if round_number == 0:
                side.ask(row.measurement, seed=seed, **row.arguments)
                continue
            time.sleep(REST_S)
            answer, others = quiet.measure(
                partial(side.ask, row.measurement, seed=seed, **row.arguments), root=side.pid
            )
            rate = answer["tokens"] / answer["seconds"]
            figures[side.name].values.append(1000 / rate if row.in_ms else rate)
            figures[side.name].others.append(others)
        if row.key == "decode-1" and round_number:
            time.sleep(REST_S)
            bandwidths.append(quiet.measure(partial(read_bandwidth, threads))[0])
    return list(figures.values())


def sides_of(arguments: argparse.Namespace, model: Path, weights: str) -> list[tuple[str, list[str], dict[str, str]]]:
    """Name, command and environment of every side; ours is the first."""
    threads = str(arguments.threads)
    command = [sys.executable, str(FOLDER / "cactus_side.py"), str(model), weights, threads]
    sides = [("cactus", command, {"PYTHONPATH": str(arguments.checkout.resolve())})]
    if arguments.before is not None:
        sides.append(("before", command, {"PYTHONPATH": str(arguments.before.resolve())}))
    if not arguments.alone:
        require_llama_cpp(arguments.llama_python)
        command = [arguments.llama_python, str(FOLDER / "llama_cpp_side.py"), str(model), threads]
        sides.append(("llama.cpp", command, {}))
    if arguments.openvino_model is not None:
        script = str(FOLDER / "openvino_side.py")
        command = [arguments.openvino_python, script, str(arguments.openvino_model), threads]
        sides.append(("OpenVINO", command, {}))
    if arguments.vllm_python is not None:
        command = [arguments.vllm_python, str(FOLDER / "vllm_side.py"), str(random_w8a8(arguments.shape))]
        sides.append(("vLLM", command, VLLM_ENVIRONMENT | {"OMP_NUM_THREADS": threads}))
    return sides


def require_llama_cpp(python: str) -> None:
    """Exit with instructions if `python` cannot import llama_cpp."""
    try:
        found = subprocess.run([python, "-c", "import llama_cpp"], capture_output=True, check=False)
    except OSError as error:
        sys.exit(f"--llama-python {python}: {error.strerror}")
    if found.returncode != 0:
        sys.exit(LLAMA_CPP_MISSING.format(python=python))


def table_of(record: Record, sides: Sequence[str]) -> Table:
    """One line per row: the median of every side, and the speed of ours relative to each other one."""
    peers = sides[1:]
    table = Table(title=f"{record.model}, {record.weights}, {record.threads} threads")
    table.add_column("")
    for name in sides:
        table.add_column(name, justify="right")
    for name in peers:
        table.add_column(f"/ {name}", justify="right")
    table.add_column("others", justify="right")
    figures = {(figure.row, figure.side): figure for figure in record.figures}
    for row in record.rows:
        medians = [figures[row.key, name].median for name in sides]
        ratios = [peer / medians[0] if row.in_ms else medians[0] / peer for peer in medians[1:]]
        others = max(max(figures[row.key, name].others) for name in sides)
        table.add_row(
            row.title,
            *(f"{value:,.1f}" for value in medians),
            *(f"{ratio:.2f}" for ratio in ratios),
            f"{others:.0%}",
        )
    blanks = [""] * (len(peers) + 1)
    if record.read_bandwidth:
        bandwidth = statistics.median(record.read_bandwidth)
        shares = [figures["decode-1", name].median * record.weight_bytes / bandwidth for name in sides]
        title = f"weights read at batch 1, of {bandwidth / 1e9:.1f} GB/s"
        table.add_row(title, *(f"{share:.0%}" for share in shares), *blanks)
    contexts = [row.key for row in record.rows if row.key.startswith("context-")]
    if len(contexts) == 2:
        short, long = contexts
        shares = [figures[long, name].median / figures[short, name].median for name in sides]
        table.add_row("decode, batch 8, long / short", *(f"{share:.2f}" for share in shares), *blanks)
    return table


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="A")
    parser.add_argument("--format", choices=FORMATS, default="Q8_0")
    parser.add_argument("--model", type=Path, help="a GGUF file in place of --shape and --format")
    parser.add_argument("--weights", help="our weight format; default: int8 for Q8_0, int4 for Q4_0")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", default="1,4,16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--long-context", type=int, default=4096)
    parser.add_argument("--rows", default="prefill,decode,context,prefix", help="kinds of rows to measure")
    parser.add_argument("--patience", type=float, default=600, help="seconds to wait in total for an idle machine")
    parser.add_argument("--checkout", type=Path, default=FOLDER.parent, help="the checkout with our packages")
    parser.add_argument("--before", type=Path, help="another checkout of ours, measured as one more side")
    parser.add_argument("--alone", action="store_true", help="measure without llama.cpp")
    parser.add_argument("--llama-python", default=sys.executable, help="a Python with llama_cpp")
    parser.add_argument("--openvino-python", default=sys.executable, help="a Python with openvino_genai")
    parser.add_argument("--openvino-model", type=Path, help="the same model, exported for OpenVINO")
    parser.add_argument("--vllm-python", help="a Python with vllm")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    model = arguments.model or random_gguf(arguments.shape, arguments.format)
    weights = arguments.weights or WEIGHTS_OF_FORMAT[arguments.format]
    batches = [int(batch) for batch in arguments.batches.split(",")]
    rows = rows_of(batches, arguments.long_context, arguments.rows.split(","))
    quiet = Quiet(arguments.patience)
    console = Console(width=WIDTH)
    with ExitStack() as stack:
        sides = [stack.enter_context(Side(*side)) for side in sides_of(arguments, model, weights)]
        try:
            record = Record(
                model=model.name,
                weights=weights,
                weight_bytes=weight_bytes(model),
                threads=arguments.threads,
                kernels={side.name: side.ask("about")["kernels"] for side in sides},
                read_bandwidth=[],
                rows=[],
                figures=[],
            )
            for row in rows:
                with console.status(row.title):
                    record.rows.append(row)
                    record.figures.extend(
                        measure_row(sides, row, arguments.rounds, quiet, record.read_bandwidth, arguments.threads)
                    )
                if arguments.json:
                    arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(record)))
        except SideFailed as error:
            sys.exit(str(error))
        console.print(table_of(record, [side.name for side in sides]))


if __name__ == "__main__":
    main()

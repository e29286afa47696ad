"""Compile times of numba: `python -m benchmarks.compiling --weights int8 --json compiling.json`.

Processor seconds of a process, from its start, that loads a small model, or builds the sampler, with an empty
cache and then with the code that earlier processes have compiled: each family after the first should find its step.
Processor seconds say the same beside other work; on two cores step and sampler are compiled side by side.
At the end the step and the sampler are compiled as code that might be there sooner: for any processor, and without
optimisation.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
from rich.console import Console
from rich.table import Table

CHECKOUT = Path(__file__).parents[1]
GOLDENS = CHECKOUT / "tests" / "goldens"
FAMILIES = ("llama3", "lfm2", "mixtral", "gemma3")
SAMPLER = "from cactus_actors.workers.engine.sampler import Sampler; Sampler([2])"
MODEL = """
from pathlib import Path
from cactus_actors.workers.loading.load_model import load_model
load_model(Path({path!r}), weights={weights!r}, threads=1).close()
"""
OTHER_CODE = {"portable": {"CACTUS_KERNELS": "portable"}, "not optimised": {"NUMBA_OPT": "0"}}
REPORT = "\nimport time; print(time.process_time())"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """All results of one run: processor seconds, first with an empty cache and then with a full one."""

    weights: str
    sampler_s: tuple[float, float]
    families_s: dict[str, tuple[float, float]]
    other_code_s: dict[str, float]  # step and sampler together, with an empty cache


def seconds(program: str, folder: str, settings: Mapping[str, str] = MappingProxyType({})) -> float:
    """Return the processor seconds of a process with its caches in `folder`, and variables for its compiler."""
    caches = {"NUMBA_CACHE_DIR": f"{folder}/compiled", "CACTUS_CACHE_DIR": f"{folder}/packed"}
    command = [sys.executable, "-c", program + REPORT]
    environment = {**os.environ, **caches, **settings}
    result = subprocess.run(command, cwd=CHECKOUT, env=environment, check=True, stdout=subprocess.PIPE)
    return float(result.stdout.split()[-1])


def measure(weights: str) -> Record:
    programs = {name: MODEL.format(path=str(GOLDENS / name), weights=weights) for name in FAMILIES}
    with tempfile.TemporaryDirectory() as folder:
        first = {name: seconds(program, folder) for name, program in programs.items()}
        sampler_first = seconds(SAMPLER, folder)
        again = {name: seconds(program, folder) for name, program in programs.items()}
        compiled = (programs[FAMILIES[0]], SAMPLER)
        other = {
            name: sum(seconds(program, f"{folder}/{name}", settings) for program in compiled)
            for name, settings in OTHER_CODE.items()
        }
        return Record(
            weights=weights,
            sampler_s=(sampler_first, seconds(SAMPLER, folder)),
            families_s={name: (first[name], again[name]) for name in FAMILIES},
            other_code_s=other,
        )


def print_record(record: Record) -> None:
    """Print the result as text."""
    table = Table("", "first, CPU s", "again, CPU s", title=f"{record.weights}, in this order")
    for name, (first, again) in record.families_s.items():
        table.add_row(f"model of {name}", f"{first:.1f}", f"{again:.1f}")
    table.add_row("sampler", *(f"{cpu_s:.1f}" for cpu_s in record.sampler_s))
    for name, cpu_s in record.other_code_s.items():
        table.add_row(f"step and sampler, {name}", f"{cpu_s:.1f}", "")
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", choices=("float32", "bfloat16", "int8", "int4"), default="int8")
    parser.add_argument("--json", type=Path, help="save everything here")
    arguments = parser.parse_args()
    record = measure(arguments.weights)
    print_record(record)
    if arguments.json:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(record)))


if __name__ == "__main__":
    main()

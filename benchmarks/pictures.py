"""The encoder of pictures, and the time to the first token about a picture, beside llama.cpp in one run.

python -m benchmarks.pictures --format Q8_0 --llama-python ../llama-venv/bin/python --json pictures.json
python -m benchmarks.pictures --encoder qwen3vl --llama-python ../llama-venv/bin/python

Both sides load the same two GGUF files, a text model and its encoder (mmproj), with random weights, and take turns. A
question is a picture of one tile between texts; every question has a picture of its own. A figure is the median of
the rounds. The largest difference of the embeddings shows that both sides compute the same.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from rich.console import Console

from benchmarks.encoder_shapes import ENCODERS, EncoderShape
from benchmarks.peers import (
    FOLDER,
    WEIGHTS_OF_FORMAT,
    WIDTH,
    Record,
    Row,
    measure_row,
    require_llama_cpp,
    table_of,
)
from benchmarks.quiet import Quiet
from benchmarks.random_gguf import FORMATS, weight_bytes
from benchmarks.random_vision_gguf import VisionModel, random_vision_gguf
from benchmarks.side import Side, SideFailed

TEXT_TOKENS = 16
WHOLE = "smolvlm"
"""The encoder that has a whole text model."""
CLOCKS = {"wall": "perf_counter", "processor": "process_time"}


def size_of(encoder: EncoderShape) -> dict[str, Any]:
    """The picture of an encoder, as an argument."""
    return dict(zip(("width", "height"), encoder.tile, strict=True))


def rows_of(encoder: EncoderShape, counts: Sequence[int], clock: str) -> list[Row]:
    """The lines of the table, in order."""
    size, (width, height) = size_of(encoder), encoder.tile
    title = f"{encoder.title}, a picture of {width} x {height}, ms"
    rows = [Row(key="encode", title=title, measurement="encode", arguments={**size, "clock": clock})]
    for count in counts:
        for until in ("last", "average") if count > 1 else ("last",):
            title = f"{until} first token of {count} questions, ms" if count > 1 else "first token of one question, ms"
            arguments: dict[str, Any] = {**size, "count": count, "text_tokens": TEXT_TOKENS, "until": until}
            arguments["clock"] = clock
            key = f"questions-{count}-{until}"
            rows.append(Row(key=key, title=title, measurement="questions", arguments=arguments))
    return [msgspec.structs.replace(row, in_ms=True) for row in rows]


def sides_of(arguments: argparse.Namespace, model: VisionModel, weights: str) -> list[Side]:
    """Ours is the first."""
    files, threads = [str(path) for path in model], str(arguments.threads)
    command = [sys.executable, str(FOLDER / "cactus_pictures_side.py"), *files, weights, threads]
    sides = [Side("cactus", command, {"PYTHONPATH": str(arguments.checkout.resolve())})]
    if not arguments.alone:
        require_llama_cpp(arguments.llama_python)
        command = [arguments.llama_python, str(FOLDER / "mtmd_side.py"), *files, threads]
        sides.append(Side("llama.cpp", command, {"PYTHONPATH": str(FOLDER.parent)}))
    return sides


def difference_of(sides: Sequence[Side], encoder: EncoderShape) -> tuple[float, float]:
    """The largest and the typical difference of the embeddings of one picture, of their range and of their spread."""
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for side in sides:
            path = Path(scratch) / f"{side.name}.npy"
            side.ask("embeddings", **size_of(encoder), seed=0, path=str(path))
            found.append(np.load(path))
    ours, theirs = found
    differences = ours - theirs
    return float(np.abs(differences).max() / np.ptp(theirs)), float(np.sqrt((differences**2).mean()) / theirs.std())


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", choices=sorted(ENCODERS), default="smolvlm")
    parser.add_argument("--format", choices=FORMATS, default="Q8_0", help="of the matrices of both files")
    parser.add_argument("--weights", help="our weight format; default: int8 for Q8_0, int4 for Q4_0")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--questions", default="1,8", help=f"numbers of concurrent questions to {WHOLE}")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="processor: for a busy machine")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=float, default=600, help="seconds to wait in total for an idle machine")
    parser.add_argument("--checkout", type=Path, default=FOLDER.parent, help="the checkout with our packages")
    parser.add_argument("--alone", action="store_true", help="measure without llama.cpp")
    parser.add_argument("--llama-python", default=sys.executable, help="a Python with llama_cpp")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    encoder = ENCODERS[arguments.encoder]
    model = random_vision_gguf(arguments.encoder, arguments.format)
    weights = arguments.weights or WEIGHTS_OF_FORMAT[arguments.format]
    counts = [int(count) for count in arguments.questions.split(",")] if arguments.encoder == WHOLE else []
    rows = rows_of(encoder, counts, CLOCKS[arguments.clock])
    quiet = Quiet(arguments.patience)
    console = Console(width=WIDTH)
    with ExitStack() as stack:
        sides = [stack.enter_context(side) for side in sides_of(arguments, model, weights)]
        try:
            record = Record(
                model=model.mmproj.name,
                weights=weights,
                weight_bytes=weight_bytes(model.mmproj),
                threads=arguments.threads,
                kernels={side.name: side.ask("about")["kernels"] for side in sides},
                read_bandwidth=[],
                rows=rows,
                figures=[],
            )
            for row in rows:
                with console.status(row.title):
                    record.figures.extend(measure_row(sides, row, arguments.rounds, quiet, [], arguments.threads))
                if arguments.json:
                    arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(record)))
            console.print(table_of(record, [side.name for side in sides]))
            if len(sides) > 1:
                largest, typical = difference_of(sides, encoder)
                console.print(f"embeddings differ by {largest:.1e} of their range at most, by {typical:.1e} typically")
        except SideFailed as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()

"""Accuracy gained by handing off, with a noisy copy of the embedded model as the local one.

The weak model is cactus-sprout with Gaussian noise on every matrix, in proportion to the matrix's standard deviation;
the better one is cactus-sprout itself.
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from safetensors import deserialize
from safetensors.numpy import save_file

from cactus_actors.calibration import Calibration, Example, ExampleOutcome, ThresholdTarget
from cactus_actors.calibration.plotting import write_plot
from cactus_actors.config import HandoffSettings
from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.sdk.local_backend import LocalBackend
from training.corpus.registry import evaluation_samples
from training.evaluate import NOT_ANSWERABLE, SEED, WITHOUT_ONE_ANSWER
from training.questions import labelled


def disturbed(model: Path, directory: Path, noise: float) -> Path:
    """Write a copy of `model` with noise on its matrices to `directory`, without the probe of the original."""
    shutil.copytree(model, directory, ignore=shutil.ignore_patterns("*.safetensors", "confidence_probe.json"))
    draw = np.random.default_rng(0)
    tensors = {}
    content = (model / "model.safetensors").read_bytes()
    for name, stored in deserialize(content):  # type: ignore[no-untyped-call]
        # bfloat16 is the upper half of float32
        halves = np.frombuffer(stored["data"], np.uint16).reshape(stored["shape"])
        tensor = (halves.astype(np.uint32) << 16).view(np.float32)
        is_matrix = tensor.ndim == 2
        spread = noise * float(tensor.std()) if is_matrix else 0.0
        tensors[name] = tensor + draw.normal(0, spread, tensor.shape).astype(np.float32)
    save_file(tensors, directory / "model.safetensors")
    return directory


def answers(model: str, examples: Sequence[Example], threads: int) -> list[ExampleOutcome]:
    """Answer the examples one after the other, greedily."""
    backend = LocalBackend(model, weights="float32", threads=threads, handoff=HandoffSettings())
    outcomes = []
    for example in examples:
        submit = Submit(
            job_id=secrets.token_hex(16),
            messages=example.messages,
            tools=example.tools,
            options=Options(temperature=0.0, max_tokens=160, gate_inputs=True),
        )
        result = backend.run(submit, None)
        outcomes.append(ExampleOutcome(example, result, example.is_right(result)))
    backend.close()
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--noise", type=float, default=0.15)
    parser.add_argument("--per-kind", type=int, default=40)
    parser.add_argument("--cloud-share", type=float, default=0.2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    examples = [
        msgspec.convert(labelled(sample), Example)
        for sample in evaluation_samples(SEED, options.per_kind)
        if sample.kind not in (NOT_ANSWERABLE, WITHOUT_ONE_ANSWER)
    ]
    sprout = resolve_model("cactus-sprout")
    with tempfile.TemporaryDirectory() as directory:
        weak = disturbed(sprout, Path(directory) / "weak", options.noise)
        own = answers(str(weak), examples, options.threads)
    second = answers(str(sprout), examples, options.threads)
    calibration = Calibration.of(own, ThresholdTarget(share=options.cloud_share), second)
    print(f"{calibration.num_answers} answers, {calibration.accuracy:.1%} right", end=" ")
    print(f"(second {calibration.second_accuracy:.1%})")
    for signal in calibration.signals:
        print(f"{signal.name:16} AUROC {signal.auroc:.3f}", end="")
        marks = (0.05, 0.1, 0.2, 0.3, 0.5)
        for share in marks:
            point = [point for point in signal.curve if point.handed_off <= share][-1]
            print(f"  {share:.0%}: rest {point.accuracy_of_rest:.1%} all {point.accuracy_of_all:.1%}", end="")
        print()
    if options.plot is not None:
        write_plot(calibration, options.plot)


if __name__ == "__main__":
    main()

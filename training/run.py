"""A training run: limited by time, with a checkpoint from which a killed run continues when it is started again."""

from __future__ import annotations

import argparse
import math
import os
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from training.optimisation import Optimisation

CHECKPOINT_SECONDS = 180.0


@dataclass(slots=True)
class Progress:
    """The state of a run that a checkpoint keeps besides the tensors."""

    seconds: float = 0.0
    step: int = 0
    shard: int = 0


class Run:
    """Progress and optimisation of a network over `minutes`; the rates fall to zero over them."""

    def __init__(self, directory: Path, minutes: float, network: torch.nn.Module) -> None:
        self.progress = Progress()
        self._seconds = minutes * 60
        self._optimisation = Optimisation(network)
        self._is_stopping = False
        self._checkpoint = directory / "checkpoint.pt"
        if self._checkpoint.exists():
            state = torch.load(self._checkpoint, weights_only=True)
            self._optimisation.resume(state)
            self.progress = Progress(**state["progress"])

    @property
    def done(self) -> float:
        """The share of the time that is over."""
        return self.progress.seconds / self._seconds

    def train(self, train_shard: Callable[[], str]) -> None:
        """Call `train_shard`, which describes its result, until the time is over or `stop` is called; then save."""
        saved = time.monotonic()
        while self.done < 1 and not self._is_stopping:
            started = time.monotonic()
            result = train_shard()
            self.progress.shard += 1
            self.progress.seconds += time.monotonic() - started
            print(f"{self.progress.seconds:7.0f} s  step {self.progress.step:6d}  {result}", flush=True)
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                self._save()
                saved = time.monotonic()
        self._save()

    def step(self, loss: Tensor) -> float:
        """Change the weights by the gradients of a batch's loss, and return it.

        Raises FloatingPointError, before the weights change, if it is not finite.
        """
        value = float(loss.item())
        if not math.isfinite(value):
            raise FloatingPointError(f"the loss of step {self.progress.step} is {value}")
        self._optimisation.step(loss, self.progress.step, self.done)
        self.progress.step += 1
        return value

    def stop(self) -> None:
        """Make the current shard the last one for now."""
        self._is_stopping = True

    def _save(self) -> None:
        unfinished = self._checkpoint.with_suffix(".part")
        torch.save({**self._optimisation.state(), "progress": asdict(self.progress)}, unfinished)
        unfinished.replace(self._checkpoint)


class Trainer(Protocol):
    """The training of one network."""

    @property
    def run(self) -> Run: ...

    def train_shard(self) -> str:
        """Train on the next shard and return its loss and speed in words."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """The defaults of a training's command line."""

    minutes: float
    run_directory: Path
    model_directory: Path


def train_from_command_line(
    description: str,
    defaults: Defaults,
    seed: int,
    trainer: Callable[[Path, float], Trainer],
    export: Callable[[Path, Path], None],
) -> None:
    """Parse the options, train, and export the weights; SIGTERM ends the training early."""
    parser = argparse.ArgumentParser(description=description)
    minutes = "training time; the rate falls to zero over it"
    parser.add_argument("--minutes", type=float, default=defaults.minutes, help=minutes)
    directory = "directory of the checkpoint and the tokenizer"
    parser.add_argument("--directory", type=Path, default=defaults.run_directory, help=directory)
    model = "directory of the final weights"
    parser.add_argument("--model", type=Path, default=defaults.model_directory, help=model)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    torch.manual_seed(seed)
    training = trainer(options.directory, options.minutes)
    signal.signal(signal.SIGTERM, lambda *_: training.run.stop())
    training.run.train(training.train_shard)
    export(options.directory, options.model)

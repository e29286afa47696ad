"""A worker with faults like those of bugs: some prompts end it, hang it, or make a step fail.

The product has no such hooks: this wraps the model of a real worker. A prompt that begins with the token of a
fault triggers it when its first token is computed, in every worker that computes it; a fault that is armed with
a file happens once, in the worker that removes the file first.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from cactus_actors.config import WorkerSettings
from cactus_actors.placement.actor_kinds import WORKER
from cactus_actors.placement.interface import ActorKind
from cactus_actors.workers.actor import LoadedEngine, WorkerActor, load
from cactus_actors.workers.engine.step_batch import Batch

DIES, HANGS_ONCE, RAISES, IS_NOT_FINITE, SLEEPS_ONCE = range(3001, 3006)
"""Prompts are given as token ids; no other prompt has these."""

PROGRAM = """
import sys
from tests.support.processes.faulty_worker import main
main(*sys.argv[1:])
"""
ARMED_FAULTS_VARIABLE = "ARMED_FAULTS"


class FaultyModel:
    """A model with faults in front of it."""

    def __init__(self, model: Any, armed: Path) -> None:
        self._model = model
        self._armed = armed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def forward(self, batch: Batch, cache: Any) -> Any:
        begins = batch.positions == 0
        faults = dict(zip(batch.token_ids[begins], batch.sequence_of_token[begins], strict=True))
        if DIES in faults:
            os._exit(139)
        if HANGS_ONCE in faults and self._takes("hang"):
            re.match(r"(a+)+$", "a" * 64 + "b")  # holds the interpreter, for longer than any timeout
        if SLEEPS_ONCE in faults and self._takes("sleep"):
            time.sleep(3600.0)  # like a thread that waits for another one that has ended: the interpreter is free
        if RAISES in faults:
            raise ZeroDivisionError("a bug in a kernel")
        logits = self._model.forward(batch, cache)
        if IS_NOT_FINITE in faults:
            rows = batch.sequence_of_token[batch.logit_rows] == faults[IS_NOT_FINITE]
            logits[rows] = self._model.logit_stats(len(logits))[rows] = np.nan
        return logits

    def _takes(self, fault: str) -> bool:
        try:
            (self._armed / fault).unlink()
        except FileNotFoundError:
            return False
        return True


def load_with_faults(settings: WorkerSettings, armed: Path) -> LoadedEngine:
    """`workers.actor.load`, with faults; `armed` has the files of those that happen once."""
    loaded = load(settings)
    loaded.engine._model = FaultyModel(loaded.model, armed)
    return loaded


def armed_faults() -> Path:
    """The directory of armed faults, from the environment of the process."""
    return Path(os.environ[ARMED_FAULTS_VARIABLE])


class FaultyWorker(WorkerActor):
    """A worker of a service, with faults."""

    def __init__(self, settings: WorkerSettings) -> None:
        super().__init__(settings, load=lambda settings, _: load_with_faults(settings, armed_faults()))


FAULTY_WORKER = ActorKind("tests.support.processes.faulty_worker", "FaultyWorker", WORKER.answers)


def main(name: str, endpoint: str, key_file: str) -> None:
    settings = WorkerSettings(worker_id=name, max_sequences=8, key_file=key_file or None)
    WorkerActor(settings, load=lambda settings, _: load_with_faults(settings, armed_faults())).run(endpoint)

"""One configuration computed here and by transformers: right, refused by name, without a reference, or wrong."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.protocol.pictures import PreparedPicture
from cactus_actors.workers.loading.load_model import model_from_tensors
from cactus_actors.workers.loading.model_reader import ModelFiles, read_model
from tests.differential.configurations import Configuration
from tests.differential.fields import FIELDS
from tests.differential.reference import (
    Incomplete,
    NoReference,
    log_probabilities,
    picture_inputs,
    write_checkpoint,
)
from tests.support.models.golden_runs import alone
from tests.support.models.picture_runs import logits_with

BOUND = 5e-4
"""The largest allowed error of a log-probability, both sides computing in float32."""

MAX_DOUBT = 5e-5
"""The largest allowed difference of the reference in float32 from itself in float64. Beyond it other weights are drawn:
two experts may be equally good, or a model may amplify its rounding errors.
"""

MAX_WEIGHTS = 5

Verdict = Literal["right", "refused", "no reference", "wrong"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one configuration; `error` is the largest one of its log-probabilities."""

    verdict: Verdict
    reason: str = ""
    error: float = 0.0


def judged(configuration: Configuration) -> Outcome:
    """Compare the log-probabilities of a prompt; both sides read the same files."""
    prompt_ids = list(configuration.prompt_ids)
    with tempfile.TemporaryDirectory(prefix="differential-") as name:
        directory = Path(name)
        try:
            for seed in range(MAX_WEIGHTS):
                write_checkpoint(configuration, directory, seed)
                try:
                    files = read_model(directory)
                except ModelFileInvalid as refusal:
                    return _refused(configuration, refusal.message.replace(name, "").lstrip("/"))
                prompt_ids = prompt_ids[: files.config.max_context]
                inputs = picture_inputs(configuration)
                expected = log_probabilities(directory, prompt_ids, inputs)
                exact = log_probabilities(directory, prompt_ids, inputs, torch.float64)
                if np.abs(expected - exact).max() <= MAX_DOUBT:
                    break
            else:
                return Outcome("no reference", "it is off from itself in float64 whatever the weights")
        except Incomplete as absence:
            return Outcome("wrong", f"read, though {absence}")
        except NoReference as absence:
            return Outcome("no reference", str(absence))
        try:
            error = float(np.abs(computed(files, prompt_ids, configuration.pictures) - expected).max())
        except ModelFileInvalid as refusal:
            return Outcome("wrong", f"refused after its files were read: {refusal.message}")
        return Outcome("right" if error <= BOUND else "wrong", error=error)


def computed(files: ModelFiles, prompt_ids: list[int], pictures: Sequence[PreparedPicture]) -> NDArray[np.float64]:
    """The log-probabilities (tokens, vocab) that the model's own kernels compute."""
    model = model_from_tensors(files.config, files.tensors, weights="float32", threads=1)
    try:
        found_by = logits_with(model, prompt_ids, list(pictures)) if pictures else alone(model, prompt_ids)
        logits = found_by.astype(np.float64)
    finally:
        model.close()
    shifted = logits - logits.max(axis=1, keepdims=True)
    found: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return found


def _refused(configuration: Configuration, message: str) -> Outcome:
    """A refusal, which must name a key of the config or a tensor."""
    config = configuration.config
    keys = {*config, *FIELDS, "tensor"}
    for section in (config, config.get("text_config", {})):
        keys |= {key for value in section.values() if isinstance(value, dict) for key in value}
    names_it = any(key in message for key in keys)
    return Outcome("refused" if names_it else "wrong", message)

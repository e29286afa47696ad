"""One configuration computed here and by transformers: right, refused by name, without a reference, or wrong."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.protocol.pictures import PreparedPicture
from cactus_actors.workers.loading.load_model import model_from_tensors
from cactus_actors.workers.loading.model_reader import ModelFiles, read_model
from tests.differential.configurations import Configuration
from tests.differential.fields import FIELDS
from tests.differential.long_prompts import continued
from tests.differential.reference import (
    Incomplete,
    NoReference,
    log_probabilities,
    picture_inputs,
    write_checkpoint,
)
from tests.goldens.picture_inputs import Inputs
from tests.support.models.golden_runs import alone
from tests.support.models.picture_runs import logits_with

BOUND = 5e-4
"""The largest allowed error of a log-probability, both sides computing in float32."""

MAX_DOUBT = 5e-5
"""The largest allowed difference of the reference in float32 from itself in float64. Beyond it other weights are drawn:
two experts may be equally good, or a model may amplify its rounding errors.
"""

MAX_TIE = 1e-4
"""The largest difference of log-probabilities of two greedy choices that are equally good."""

MAX_WEIGHTS = 5

Verdict = Literal["right", "refused", "no reference", "wrong"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one configuration; `error` is the largest one of its log-probabilities.

    `ties` are greedy ids that are not those of the reference, and as good.
    """

    verdict: Verdict
    reason: str = ""
    error: float = 0.0
    ties: int = 0


def judged(configuration: Configuration, num_greedy: int = 0) -> Outcome:
    """Compare the log-probabilities of a prompt, and its greedy ids; both sides read the same files."""
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
        num_greedy = min(num_greedy, files.config.max_context - len(prompt_ids))
        try:
            found, greedy_ids = computed(files, prompt_ids, configuration.pictures, num_greedy)
        except ModelFileInvalid as refusal:
            return Outcome("wrong", f"refused after its files were read: {refusal.message}")
        error = float(np.abs(found - expected).max())
        if error > BOUND:
            return Outcome("wrong", error=error)
        if not greedy_ids:
            return Outcome("right", error=error)
        return _continued(directory, prompt_ids, greedy_ids, inputs, error)


def _continued(directory: Path, prompt_ids: list[int], greedy_ids: list[int], inputs: Inputs, error: float) -> Outcome:
    """The outcome of a model whose log-probabilities are right: each greedy id must be as likely as the likeliest."""
    try:
        after = log_probabilities(directory, [*prompt_ids, *greedy_ids[:-1]], inputs)[len(prompt_ids) - 1 :]
    except NoReference as absence:
        return Outcome("no reference", f"of greedy ids: {absence}")
    gaps = after.max(axis=1) - after[np.arange(len(greedy_ids)), greedy_ids]
    if gaps.max() > MAX_TIE:
        place = int(np.argmax(gaps > MAX_TIE))
        return Outcome("wrong", f"greedy id {place} is {greedy_ids[place]}, not {after[place].argmax()}", error)
    return Outcome("right", error=error, ties=int((gaps > 0).sum()))


def computed(
    files: ModelFiles, prompt_ids: list[int], pictures: Sequence[PreparedPicture], num_greedy: int
) -> tuple[NDArray[np.float64], list[int]]:
    """The log-probabilities (tokens, vocab) that the model's own kernels compute, and the greedy ids after them."""
    model = model_from_tensors(files.config, files.tensors, weights="float32", threads=1)
    try:
        found_by = logits_with(model, prompt_ids, list(pictures)) if pictures else alone(model, prompt_ids)
        logits = found_by.astype(np.float64)
        greedy_ids = continued(model, prompt_ids, pictures, num_greedy)
    finally:
        model.close()
    shifted = logits - logits.max(axis=1, keepdims=True)
    found: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return found, greedy_ids


def _refused(configuration: Configuration, message: str) -> Outcome:
    """A refusal, which must name a key of the config or a tensor."""
    keys = {*_keys_of(configuration.config), *FIELDS, "tensor"}
    return Outcome("refused" if any(key in message for key in keys) else "wrong", message)


def _keys_of(config: Mapping[str, Any]) -> Iterator[str]:
    """The keys of an object and of all objects in it."""
    for key, value in config.items():
        yield key
        if isinstance(value, dict):
            yield from _keys_of(value)

"""Prompt files: lines in, OpenAI batch lines out, each exactly once whatever is killed in between."""

from cactus_actors.batch.failures import InputChanged, InputInvalid, OutputFailed, OutputLocked, OutputRefused
from cactus_actors.batch.lines import PromptLine
from cactus_actors.batch.paths import BatchPaths
from cactus_actors.batch.request import BatchProgress, BatchRequest
from cactus_actors.batch.runner import run_batch

__all__ = [
    "BatchPaths",
    "BatchProgress",
    "BatchRequest",
    "InputChanged",
    "InputInvalid",
    "OutputFailed",
    "OutputLocked",
    "OutputRefused",
    "PromptLine",
    "run_batch",
]

"""Prompt files: lines in, OpenAI batch lines out, each exactly once even if processes are killed."""

from cactus_actors.batch.batch_request import BatchProgress, BatchRequest, check_for_all
from cactus_actors.batch.batch_runner import run_batch
from cactus_actors.batch.failure_reasons import Reason, reasons_of
from cactus_actors.batch.line_source import FirstLines
from cactus_actors.batch.paths import BatchPaths
from cactus_actors.batch.prompt_lines import PromptLine
from cactus_actors.batch.second_pass.pass_outcomes import SecondPassReport
from cactus_actors.batch.second_pass.pass_record import SecondPassProgress
from cactus_actors.batch.second_pass.second_pass import run_second_pass
from cactus_actors.batch.standard_input import keep_input

__all__ = [
    "BatchPaths",
    "BatchProgress",
    "BatchRequest",
    "FirstLines",
    "PromptLine",
    "Reason",
    "SecondPassProgress",
    "SecondPassReport",
    "check_for_all",
    "keep_input",
    "reasons_of",
    "run_batch",
    "run_second_pass",
]

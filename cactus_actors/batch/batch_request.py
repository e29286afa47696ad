"""The request for a run, and its progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.api.params import resolve_options
from cactus_actors.batch.line_source import LineReader, LineSource, opened
from cactus_actors.batch.paths import BatchPaths
from cactus_actors.batch.prompt_file import Format
from cactus_actors.batch.prompt_lines import PromptLine
from cactus_actors.protocol.cloud_batches import MAX_QUESTIONS
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result

DEFAULT_MAX_IN_FLIGHT = 64


@dataclass(frozen=True, kw_only=True)
class BatchLimits:
    """Limits on waiting for the service, and on reading ahead.

    The service may be unreachable for `service_lost_s`, as during a restart; the wait for room in a full one has no
    limit. A refused job is sent again after `retry_s`, unless the refusal names a time. A batch of the cloud is asked
    about every `poll_s`, and has at most `max_questions`.
    """

    service_lost_s: float = 120.0
    retry_s: float = 1.0
    max_ahead_bytes: int = 1 << 20
    poll_s: float = 15.0
    max_questions: int = MAX_QUESTIONS


DEFAULT_LIMITS = BatchLimits()

Misfit = Callable[[str, str | None], str | None]
"""Why the text of an answer, which ended for that `finish_reason`, is none that is wanted; None if it is."""


@dataclass(frozen=True, kw_only=True)
class BatchRequest:
    """The files and options of a run.

    The `source` is a prompt file or other lines. `options` fill in missing options of lines; `form` None is detected;
    `raw` bypasses the chat template for plain lines; `system` precedes conversations without a system message; `model`
    is asked the lines that name none. `resume` continues a run, `retry_failed` runs its failed lines again. Before a
    `second_pass` no line is handed off, and a finished run is left as it is; it is by the cloud, or by
    `second_pass_model`, a model of the service. A line with a `misfit` fails, and its line of the error file has the
    answer; that of a second pass is not taken. Without `one_model` a resumed run may use another model. `account` is
    that of its jobs. Runs of one `run_id`, by default a random one, have the same jobs, seeds and tokens. Relative
    paths of pictures are below the directory `pictures` of this machine; without it the service reads them.
    """

    source: Path | LineSource
    output: Path
    options: Options = field(default_factory=Options)
    form: Format | None = None
    raw: bool = False
    system: str | None = None
    model: str | None = None
    max_in_flight: int = DEFAULT_MAX_IN_FLIGHT
    resume: bool = False
    retry_failed: bool = False
    overwrite: bool = False
    second_pass: bool = False
    second_pass_model: str | None = None
    misfit: Misfit | None = None
    one_model: bool = True
    account: str = ""
    run_id: str | None = None
    pictures: Path | None = None
    limits: BatchLimits = DEFAULT_LIMITS

    @property
    def paths(self) -> BatchPaths:
        return BatchPaths.of(self.source, self.output)

    def open_source(self) -> LineReader:
        """A pass over the lines; raises InputInvalid."""
        return opened(self.source)

    def parameters(self, form: Format) -> dict[str, Any]:
        """The parameters that answers depend on, apart from input and model."""
        options = msgspec.structs.replace(self.options, priority=None)
        parameters = {"form": form, "raw": self.raw, "options": msgspec.to_builtins(options)}
        if not isinstance(self.source, Path):
            parameters["rows"] = dict(self.source.parameters)
        given = {"system": self.system, "model": self.model}
        return parameters | {name: value for name, value in given.items() if value is not None}


def check_for_all(options: Options, system: str | None) -> None:
    """Raise InvalidRequest for options that are invalid for every line."""
    resolve_options(options)
    try:
        (system or "").encode()
    except UnicodeEncodeError:
        raise InvalidRequest("system is not UTF-8 text", param="system") from None


@dataclass
class BatchProgress:
    """Counts of the whole run; tokens, time and the lines that the cloud answered of this process only."""

    num_lines: int
    num_succeeded: int
    num_failed: int
    num_resumed: int
    completion_tokens: int
    started: float
    num_handed_off: int = 0

    @property
    def num_done(self) -> int:
        """Number of finished lines."""
        return self.num_succeeded + self.num_failed

    @property
    def tokens_per_second(self) -> float:
        return self.completion_tokens / max(1e-9, time.monotonic() - self.started)


Observer = Callable[[BatchProgress, PromptLine | None, Result | None], None]

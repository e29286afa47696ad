"""What to run, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.api.params import resolve_options
from cactus_actors.batch.paths import BatchPaths
from cactus_actors.batch.prompt_file import Format
from cactus_actors.batch.prompt_lines import PromptLine
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result

DEFAULT_MAX_IN_FLIGHT = 64


@dataclass(frozen=True, kw_only=True)
class BatchLimits:
    """How long a run waits for the service, and how far it reads ahead.

    The service may be unreachable for `service_lost_s`, as during a restart; a full one is waited for without
    limit. A refused job is sent again after `retry_s`, unless the refusal names a time.
    """

    service_lost_s: float = 120.0
    retry_s: float = 1.0
    max_ahead_bytes: int = 1 << 20


DEFAULT_LIMITS = BatchLimits()


@dataclass(frozen=True, kw_only=True)
class BatchRequest:
    """What to run and how.

    `options` fill in what a line leaves out; `form` None is by suffix and content; `raw` keeps plain lines
    from the chat template; `system` opens conversations that have no system message. A run that is resumed,
    or whose failed lines are run again by `retry_failed`, goes on where it was. Without `one_model` a resumed
    run takes whatever model the service has by then. `account` is that of its jobs.
    """

    source: Path
    output: Path
    options: Options = field(default_factory=Options)
    form: Format | None = None
    raw: bool = False
    system: str | None = None
    max_in_flight: int = DEFAULT_MAX_IN_FLIGHT
    resume: bool = False
    retry_failed: bool = False
    overwrite: bool = False
    one_model: bool = True
    account: str = ""
    limits: BatchLimits = DEFAULT_LIMITS

    @property
    def paths(self) -> BatchPaths:
        """The files of this run."""
        return BatchPaths(self.source, self.output)

    def parameters(self, form: Format) -> dict[str, Any]:
        """All that the answers depend on, but for the input and the model."""
        options = msgspec.structs.replace(self.options, priority=None)
        parameters = {"form": form, "raw": self.raw, "options": msgspec.to_builtins(options)}
        return parameters if self.system is None else {**parameters, "system": self.system}


def check_for_all(options: Options, system: str | None) -> None:
    """Raise InvalidRequest for what stands for all lines and could be right for none."""
    resolve_options(options)
    try:
        (system or "").encode()
    except UnicodeEncodeError:
        raise InvalidRequest("system is not UTF-8 text", param="system") from None


@dataclass
class BatchProgress:
    """Lines of the whole run; tokens and seconds of this process's part of it."""

    num_lines: int
    num_succeeded: int
    num_failed: int
    num_resumed: int
    completion_tokens: int
    started: float

    @property
    def num_done(self) -> int:
        """Lines that need no more work."""
        return self.num_succeeded + self.num_failed

    @property
    def tokens_per_second(self) -> float:
        """Completion tokens a second since this process began."""
        return self.completion_tokens / max(1e-9, time.monotonic() - self.started)


Observer = Callable[[BatchProgress, PromptLine | None, Result | None], None]

"""The files of audits in a directory of their own: the record, the answers that wait for a person, and labels.

Only the handoff actor writes the record and the answers; `cactus audit` appends labels, which the actor takes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar, get_args

import msgspec

from cactus_actors.keys.private_file import read_private, write_private
from cactus_actors.process.private_directories import make_private
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.results import ToolCall
from cactus_actors.protocol.totals import AuditOutcome

MAX_UNJUDGED_BYTES = 8 * 1024 * 1024
MAX_ANSWER_BYTES = 256 * 1024
"""The longest line of an answer that waits for a person."""
MAX_LABEL_BYTES = 1024 * 1024

Label = Literal["right", "wrong", "skip"]
Line = TypeVar("Line", bound=msgspec.Struct)


class AuditState(msgspec.Struct, kw_only=True):
    """The record of audits; `subject` are the settings that it is about.

    `verdicts` has one character for each audit from the number `first` on, in the order of the audits: `r` right, `w`
    wrong, `u` unjudged, `-` not to be judged. `signals` are those of the latest audits at the present `step` of the
    threshold. `tiers` are the records of the models of a cascade, by their names.
    """

    subject: list[str] = []
    first: int = 1
    verdicts: str = ""
    signals: list[float] = []
    outcomes: dict[AuditOutcome, int] = msgspec.field(
        default_factory=lambda: {"right": 0, "wrong": 0, "failed": 0, "skipped": 0}
    )
    has_drifted: bool = False
    drifts: int = 0
    step: int = 0
    min_threshold: float = 0.0
    tiers: dict[str, AuditState] = {}

    def __post_init__(self) -> None:
        if set(self.outcomes) != set(get_args(AuditOutcome)):
            raise ValueError("a count of an outcome is missing")
        if not set(self.verdicts) <= set("rwu-"):
            raise ValueError("verdicts are r, w, u and -")
        if self.first < 1 or not all(0.0 <= value <= 1.0 for value in (*self.signals, self.min_threshold)):
            raise ValueError("a number is out of range")


class UnjudgedAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer that stayed and differs from the cloud's; `time` is in Unix seconds, `question` text or messages.

    `group` is that of the job, by which thresholds may be calibrated. `id` counts the audits of a `tier`, a model of a
    cascade, or of all other jobs.
    """

    id: int
    time: float
    question: Any
    answer: str
    cloud_answer: str
    model: str
    calls: list[ToolCall] = []
    cloud_calls: list[ToolCall] = []
    threshold: float = 0.0
    signal: float = 0.0
    group: str = ""
    tier: str = ""

    @property
    def name(self) -> str:
        """The name by which people judge it."""
        return audit_name(self.tier, self.id)


def audit_name(tier: str, number: int) -> str:
    """`17`, or `sprout:17` in a cascade."""
    return f"{tier}:{number}" if tier else f"{number}"


class AuditLabel(msgspec.Struct, frozen=True, omit_defaults=True):
    """A person's verdict on the answer `id` of a tier; with `is_reset` instead, all audits begin anew."""

    id: int = 0
    label: Label = "skip"
    is_reset: bool = False
    tier: str = ""


def audit_directory(state_dir: Path) -> Path:
    """The directory of audits in a service's state directory."""
    return state_dir / "audits"


class AuditFiles:
    """Reads and writes the files in `directory`; raises ConfigurationInvalid for a file that it cannot use.

    The answers are bounded: beyond MAX_UNJUDGED_BYTES no more are added until some are judged.
    """

    def __init__(self, directory: Path) -> None:
        self._state = directory / "state.json"
        self._unjudged = directory / "unjudged.jsonl"
        self._labels = directory / "labels.jsonl"
        self.spending = directory / "spending.json"

    def read_state(self) -> AuditState | None:
        """The record; None if there is none."""
        if not os.path.lexists(self._state):
            return None
        try:
            return msgspec.json.decode(read_private(self._state), type=AuditState)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ConfigurationInvalid(f"{self._state} is not a record of audits; restore or remove it") from None

    def write_state(self, state: AuditState) -> None:
        """Replace the record."""
        write_private(self._state, msgspec.json.encode(state))

    def unjudged(self) -> list[UnjudgedAnswer]:
        """The answers that wait for a person, also those with a label that the actor has not taken yet."""
        return _lines_of(_content(self._unjudged, MAX_UNJUDGED_BYTES + MAX_ANSWER_BYTES), UnjudgedAnswer)

    def add_unjudged(self, answer: UnjudgedAnswer) -> bool:
        """Append an answer; False if it is too long or the file is full."""
        line = msgspec.json.encode(answer) + b"\n"
        with _opened(self._unjudged, os.O_WRONLY | os.O_APPEND) as file:
            if len(line) > MAX_ANSWER_BYTES or os.fstat(file.fileno()).st_size + len(line) > MAX_UNJUDGED_BYTES:
                return False
            file.write(line)
        return True

    def keep_unjudged(self, answers: Iterable[UnjudgedAnswer]) -> None:
        """Replace the answers that wait."""
        write_private(self._unjudged, b"".join(msgspec.json.encode(answer) + b"\n" for answer in answers))

    def labels(self) -> list[AuditLabel]:
        """The labels that the actor has not taken yet."""
        return _lines_of(_content(self._labels, MAX_LABEL_BYTES), AuditLabel)

    def add_label(self, label: AuditLabel) -> None:
        """Append a label, for the actor of a running service, or of the next one."""
        with _opened(self._labels, os.O_WRONLY | os.O_APPEND) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_size > MAX_LABEL_BYTES // 2:
                raise ConfigurationInvalid(f"{self._labels} is full of labels that no service takes: start the service")
            file.write(msgspec.json.encode(label) + b"\n")

    @property
    def has_labels(self) -> bool:
        """True if a label was added."""
        with contextlib.suppress(OSError):
            return self._labels.lstat().st_size > 0
        return False

    @contextlib.contextmanager
    def taken_labels(self) -> Iterator[list[AuditLabel]]:
        """The labels, which are removed if the context ends without an error; meanwhile none is added."""
        with _opened(self._labels, os.O_RDWR) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield _lines_of(file.read(MAX_LABEL_BYTES), AuditLabel)
            file.truncate(0)


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[BinaryIO]:
    """A file that only its owner can use, made if it is missing."""
    try:
        make_private(path.parent)
        descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        with os.fdopen(descriptor, "r+b" if flags & os.O_RDWR else "ab", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077:
                raise ConfigurationInvalid(f"{path} is not a file that only its owner can read")
            yield file
    except OSError as error:
        raise ConfigurationInvalid(f"{path}: {error.strerror}") from None


def _content(path: Path, max_bytes: int) -> bytes:
    if not os.path.lexists(path):
        return b""
    with _opened(path, os.O_RDWR) as file:
        return file.read(max_bytes)


def _lines_of(content: bytes, kind: type[Line]) -> list[Line]:
    """The lines that can be read; one that was cut off by a full disk, or damaged, is left out."""
    lines = []
    for line in content.splitlines():
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            lines.append(msgspec.json.decode(line, type=kind))
    return lines

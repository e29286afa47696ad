"""`cactus audit`: lists the audited answers that wait for a person, and takes verdicts on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import msgspec
import typer

from cactus_actors.cli.shared_options import AsJson
from cactus_actors.cli.terminal import counted, print_json, print_page, show
from cactus_actors.config import ServeConfig
from cactus_actors.protocol.errors import ConfigurationInvalid

if TYPE_CHECKING:
    from cactus_actors.handoff.audits.audit_files import AuditFiles, AuditState, Label, UnjudgedAnswer
    from cactus_actors.protocol.results import ToolCall

MAX_SHOWN = 60
STATE_DIR = ServeConfig().state_dir
_KEYS: dict[str, Label] = {"r": "right", "w": "wrong", "s": "skip", "right": "right", "wrong": "wrong", "skip": "skip"}


def audit(
    label: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="ID VERDICT", help="Judge the answer ID: right, wrong, or skip for no verdict at all."),
    ] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Show each answer, and ask for a verdict.")] = False,
    reset: Annotated[
        bool, typer.Option("--reset", help="Begin all audits anew, at the thresholds of the jobs, after calibrating.")
    ] = False,
    as_json: AsJson = False,
    state_dir: Annotated[Path, typer.Option(help="The service's state directory, where the service runs.")] = STATE_DIR,
) -> None:
    """List the audited answers that differ from the second model's, for people to judge.

    With `audit_share` in `[handoff]` the service compares some of the answers that stay with the cloud's. It judges by
    rule only those that are equal, and those that are structured (docs/guide/handoff.md). A verdict is about the
    service's answer, not about the cloud's. A running service takes it within seconds, another one at its start.
    An answer of a cascade has the name of its model before its number. --json has the counts and the drift of the
    `audits`, for each `tier` of a cascade, and the `answers` that wait.

    Example: cactus audit --label 17 right

    Example: cactus audit --label sprout:4 wrong
    """
    from cactus_actors.handoff.audits.audit_files import AuditFiles, AuditLabel, audit_directory

    if sum((label is not None, ask, reset)) > 1:
        raise ConfigurationInvalid("--label, --ask and --reset exclude each other")
    if state_dir != STATE_DIR and not state_dir.expanduser().is_dir():
        raise ConfigurationInvalid(f"{state_dir} is no directory", param="state_dir")
    files = AuditFiles(audit_directory(state_dir.expanduser()))
    if reset:
        if files.read_state() is None:
            raise ConfigurationInvalid(
                f"{state_dir} has no audits; --state-dir names the state directory of a service", param="state_dir"
            )
        files.add_label(AuditLabel(is_reset=True))
        typer.echo(f"all audits in {state_dir} begin anew")
        return
    waiting = _waiting(files)
    if label is not None:
        name, verdict = label
        _judge(files, waiting, name, _verdict_of(verdict))
    elif ask:
        _ask(files, waiting)
    elif as_json:
        print_json({"audits": _summaries(files.read_state(), waiting), "answers": waiting})
    else:
        state = files.read_state()
        if state is None:
            typer.echo(
                f"no audits in {state_dir}; `audit_share` in [handoff] begins them, "
                "and --state-dir names the state directory of a service"
            )
        else:
            _print(state, waiting)


def _waiting(files: AuditFiles) -> list[UnjudgedAnswer]:
    """The answers without a label."""
    labels = files.labels()
    if any(label.is_reset for label in labels):
        return []
    labelled = {(label.tier, label.id) for label in labels}
    return [answer for answer in files.unjudged() if (answer.tier, answer.id) not in labelled]


def _verdict_of(text: str) -> Label:
    from cactus_actors.handoff.audits.audit_files import Label

    verdicts: tuple[Label, ...] = get_args(Label)
    if text in verdicts:
        return verdicts[verdicts.index(text)]
    raise ConfigurationInvalid(f"a verdict is one of {', '.join(verdicts)}, not {text[:100]!r}", param="label")


def _judge(files: AuditFiles, waiting: Sequence[UnjudgedAnswer], name: str, verdict: Label) -> None:
    from cactus_actors.handoff.audits.audit_files import AuditLabel

    answer = next((answer for answer in waiting if answer.name == name), None)
    if answer is None:
        raise ConfigurationInvalid(
            f"no answer {name[:100]} waits for a verdict; cactus audit lists those", param="label"
        )
    files.add_label(AuditLabel(id=answer.id, label=verdict, tier=answer.tier))
    typer.echo(f"{name}: {verdict}")


def _ask(files: AuditFiles, waiting: Sequence[UnjudgedAnswer]) -> None:
    """Ask for each verdict; the end of the input ends the questions, and what was answered stays."""
    for place, answer in enumerate(waiting, 1):
        show(
            f"\n{answer.name} ({place} of {len(waiting)})\nquestion: {question_text(answer.question)}\n"
            f"the service: {answer_text(answer.answer, answer.calls)}\n"
            f"{answer.model}: {answer_text(answer.cloud_answer, answer.cloud_calls)}\n"
        )
        verdict = None
        while verdict is None:
            try:
                given = input("is the service's answer right? [r]ight, [w]rong, [s]kip: ")
            except EOFError:
                typer.echo()
                return
            verdict = _KEYS.get(given.strip().lower())
        _judge(files, [answer], answer.name, verdict)
    typer.echo("no answer waits for a verdict")


def _summaries(state: AuditState | None, waiting: Sequence[UnjudgedAnswer]) -> list[dict[str, Any]]:
    """The counts of all audits, or of each tier of a cascade, and whether the monitor has seen a drift."""
    by_tier = {} if state is None else {"": state, **state.tiers}
    return [
        {
            "tier": tier,
            **{str(outcome): count for outcome, count in one.outcomes.items()},
            "waiting": sum(answer.tier == tier for answer in waiting),
            "has_drifted": one.has_drifted,
            "drifts": one.drifts,
            "tightened": one.step,
            "min_threshold": one.min_threshold,
        }
        for tier, one in by_tier.items()
    ]


def _print(state: AuditState, waiting: Sequence[UnjudgedAnswer]) -> None:
    from rich.table import Table
    from rich.text import Text

    for tier, one in {"": state, **state.tiers}.items():
        _print_summary(tier, one, sum(answer.tier == tier for answer in waiting))
    if not waiting:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("id", "question", "the service", "the second model"):
        table.add_column(heading, no_wrap=heading == "id", overflow="fold")
    for answer in waiting:
        row = (
            answer.name,
            question_text(answer.question),
            answer_text(answer.answer, answer.calls),
            answer_text(answer.cloud_answer, answer.cloud_calls),
        )
        table.add_row(*(Text(_clipped(text)) for text in row))
    print_page(table)


def _print_summary(tier: str, state: AuditState, num_waiting: int) -> None:
    of_tier = f"{tier}: " if tier else ""
    judged = state.outcomes["right"] + state.outcomes["wrong"]
    counts = f"{state.outcomes['right']} right, {state.outcomes['wrong']} wrong"
    typer.echo(f"{of_tier}{counted(judged, 'audit')} judged: {counts}; {counted(num_waiting, 'answer')} to be judged")
    if state.has_drifted:
        typer.echo(f"{of_tier}drift: more of the answers that stay are wrong than the bound allows")
    if state.step:
        times = counted(state.step, "time")
        typer.echo(f"{of_tier}tightened {times}: thresholds are at least {state.min_threshold:.6g}")


def question_text(question: Any) -> str:
    """The last message of a conversation, or the prompt."""
    if isinstance(question, list) and question and isinstance(question[-1], dict):
        content = question[-1].get("content")
        return content if isinstance(content, str) else msgspec.json.encode(content).decode()
    return question if isinstance(question, str) else msgspec.json.encode(question).decode()


def answer_text(text: str, calls: Sequence[ToolCall]) -> str:
    """An answer and its tool calls."""
    return " ".join(filter(None, (text, *(msgspec.json.encode(call).decode() for call in calls))))


def _clipped(text: str) -> str:
    words = "".join(letter if letter.isprintable() else " " for letter in text)
    return words if len(words) <= MAX_SHOWN else words[: MAX_SHOWN - 1] + "…"

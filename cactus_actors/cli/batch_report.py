"""What `cactus batch` says at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cactus_actors.cli.batch_progress import show_reasons
from cactus_actors.cli.terminal import counted, print_json

if TYPE_CHECKING:
    from cactus_actors.batch import BatchProgress, BatchRequest, SecondPassReport
    from cactus_actors.data.parts import PartsReport
    from cactus_actors.data.table_request import TableReport


def print_report(
    progress: BatchProgress,
    second_pass: SecondPassReport | None,
    table: TableReport | None,
    request: BatchRequest,
    *,
    page: Path | None,
    as_json: bool,
) -> None:
    """Print the counts of a finished run, the reasons of failed lines, and the path of its report."""
    import msgspec

    from cactus_actors.batch import reasons_of

    paths = request.paths
    if as_json:
        report: dict[str, Any] = {
            "lines": progress.num_lines,
            "succeeded": progress.num_succeeded,
            "failed": progress.num_failed,
            "resumed": progress.num_resumed,
            "handed_off": progress.num_handed_off,
            "completion_tokens": progress.completion_tokens,
            "tokens_per_second": round(progress.tokens_per_second, 1),
            "output": str(paths.output),
            "errors": str(paths.errors) if progress.num_failed else None,
            "reasons": msgspec.to_builtins(reasons_of(paths.errors)),
        }
        if second_pass is not None:
            report["second_pass"] = {
                "model": request.second_pass_model,
                "completed": second_pass.num_completed,
                "unsure": second_pass.num_unsure,
                "failed": second_pass.num_failed,
                "suppressed": second_pass.num_suppressed,
                "cost": second_pass.cost,
                "currency": second_pass.currency or None,
            }
        if table is not None:
            report["table"] = {
                "path": str(table.path),
                "rows": table.num_rows,
                "misfits": table.num_misfits,
            }
        if page is not None:
            report["report"] = str(page)
        print_json(report)
        return
    failed = f", {progress.num_failed} failed ({paths.errors})" if progress.num_failed else ""
    earlier = f", {progress.num_resumed} of them before" if progress.num_resumed else ""
    away = f", {progress.num_handed_off} handed off" if progress.num_handed_off else ""
    none = "" if progress.num_lines else f"; there is no prompt in {request.source}"
    done = f"{progress.num_succeeded} of {progress.num_lines} lines done ({paths.output})"
    typer.echo(f"{done}{failed}{earlier}{away}{none}")
    if table is not None:
        typer.echo(table.in_words)
    if second_pass is not None:
        typer.echo(_second_pass_in_words(second_pass, request.second_pass_model))
    if page is not None:
        typer.echo(f"report: {page}")
    if progress.num_failed:
        show_reasons(reasons_of(paths.errors), "line" if table is None else "row")


def print_parts_report(progress: BatchProgress, report: PartsReport, *, page: Path | None, as_json: bool) -> None:
    """Print the counts of a table in parts, the reasons of failed rows, and the path of its report."""
    import msgspec

    figures = report.figures
    if as_json:
        print_json(
            {
                "rows": report.num_rows,
                "failed": figures.num_failed,
                "resumed": progress.num_resumed,
                "handed_off": figures.num_handed_off,
                "misfits": report.num_misfits,
                "completion_tokens": progress.completion_tokens,
                "tokens_per_second": round(progress.tokens_per_second, 1),
                "output": report.target,
                "parts": report.num_parts,
                "reasons": msgspec.to_builtins(figures.reasons),
                **({} if page is None else {"report": str(page)}),
            }
        )
        return
    failed = f", {figures.num_failed} failed" if figures.num_failed else ""
    earlier = f", {progress.num_resumed} of them before" if progress.num_resumed else ""
    away = f", {figures.num_handed_off} handed off" if figures.num_handed_off else ""
    misfits = f", {report.num_misfits} without an answer that obeys the schema" if report.num_misfits else ""
    where = f"{counted(report.num_rows, 'row')} in {counted(report.num_parts, 'part')} of {report.target}"
    none = "" if report.num_rows else "; there is no prompt in the input"
    typer.echo(where + failed + earlier + away + misfits + none)
    if page is not None:
        typer.echo(f"report: {page}")
    show_reasons(figures.reasons, "row")


def _second_pass_in_words(report: SecondPassReport, model: str | None) -> str:
    who = model or "the cloud"
    kept = report.num_failed + report.num_suppressed
    if not report.num_completed + kept:
        return f"second pass: no line was left for {who}"
    cost = "" if report.cost is None else f" for {report.cost:.6g} {report.currency}"
    text = f"second pass: {who} answered {counted(report.num_completed, 'line')}{cost}"
    if report.num_unsure:
        text += f", and was not sure of {report.num_unsure} of them"
    if kept:
        text += f"; {counted(kept, 'line')} kept the first answer, `handoff.reason` says why"
    return text

"""Writes the report of a run: one HTML file that needs neither scripts nor anything else of the network."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path

from cactus_actors.batch.batch_errors import OutputRefused, naming_file
from cactus_actors.batch.failure_reasons import Reason
from cactus_actors.batch.report.bin_counts import BinCounts
from cactus_actors.batch.report.markup import Bar, plot, share, table
from cactus_actors.batch.report.run_figures import RunFigures

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f23; --paper: #ffffff; --faint: #d0d7de; --bar: #1f6f43; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --faint: #30363d; --bar: #56c288; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { overflow-wrap: anywhere; }
.plot { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; }
svg { flex: 1 1 30rem; min-width: 0; max-width: 48rem; }
svg line { stroke: var(--faint); } svg rect { fill: var(--bar); }
svg text { fill: var(--ink); font-size: 12px; } .tick { text-anchor: middle; } .value { text-anchor: end; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { border-bottom: 1px solid var(--faint); padding: .2rem .75rem .2rem 0; text-align: right; vertical-align: top; }
th[scope="row"], th:first-child { text-align: left; font-weight: 400; overflow-wrap: anywhere; }
.reasons td:last-child { text-align: left; overflow-wrap: anywhere; }
"""
_STATUSES = {
    "none": "answered here",
    "recommended": "unsure, not handed off",
    "completed": "answered by the cloud",
    "failed": "the cloud failed",
    "suppressed": "handing off not allowed",
}


def check_report_path(path: Path, *others: Path) -> None:
    """Raise OutputRefused for a report that cannot be written, or would replace one of the other files."""
    if path.is_dir() or not path.name:
        raise OutputRefused(f"{path}: is a directory; a report is a file")
    if not path.parent.is_dir():
        raise OutputRefused(f"{path}: there is no directory {path.parent}")
    if any(path.resolve() == other.resolve() for other in others):
        raise OutputRefused(f"{path}: is a file of the run; choose another report")


def write_report(path: Path, name: str, figures: RunFigures) -> None:
    """Write the report of the output `name`, whole or not at all; raises OutputFailed."""
    unfinished = path.with_name(f"{path.name}.new")
    with naming_file(path):
        unfinished.write_text(report_page(name, figures), encoding="utf-8")
        unfinished.replace(path)


def report_page(name: str, figures: RunFigures) -> str:
    """The report as HTML."""
    title = escape(f"Report of {name}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head><body><main><h1>{title}</h1>\n"
        + "\n".join(part for part in _parts(figures) if part)
        + "\n</main></body></html>\n"
    )


def _parts(figures: RunFigures) -> list[str]:
    return [
        _summary(figures),
        _reasons(figures.reasons, figures.num_failed),
        plot("handoff", "Handing off", "status", _counted(figures.statuses, _STATUSES)),
        plot("confidence", "Confidence", "confidence", _binned(figures.confidence, "{:.2f}")),
        plot("total", "Time of a line", "ms", _binned(figures.total_ms, "{:,.0f}")),
        plot("first", "Time to the first token", "ms", _binned(figures.first_token_ms, "{:,.0f}")),
        plot("prompts", "Length of prompts", "tokens", _binned(figures.prompt_length, "{:,.0f}")),
        plot("answers", "Length of answers", "tokens", _binned(figures.answer_length, "{:,.0f}")),
        plot("endings", "Ends of answers", "finish_reason", _counted(figures.endings, {})),
    ]


def _summary(figures: RunFigures) -> str:
    rows = [
        ["lines", f"{figures.num_lines:,}"],
        ["answered", f"{figures.num_succeeded:,} ({share(figures.num_succeeded, figures.num_lines)})"],
        ["failed", f"{figures.num_failed:,} ({share(figures.num_failed, figures.num_lines)})"],
        ["handed off", f"{figures.num_handed_off:,} ({share(figures.num_handed_off, figures.num_succeeded)})"],
        ["tokens of prompts", f"{figures.prompt_tokens:,}"],
        ["tokens of answers", f"{figures.completion_tokens:,}"],
    ]
    rows += [[f"answered by {model}", f"{count:,}"] for model, count in _most_frequent(figures.models)]
    return table("Summary", ("", "number"), rows)


def _reasons(reasons: list[Reason], num_failed: int) -> str:
    if not reasons:
        return ""
    rows = [
        [
            reason.code if reason.param is None else f"{reason.code} ({reason.param})",
            f"{reason.count:,}",
            share(reason.count, num_failed),
            "" if reason.first_line is None else f"{reason.first_line:,}",
            reason.message,
        ]
        for reason in reasons
    ]
    heads = ("reason", "lines", "share", "first line", "its message")
    return f'<section class="reasons">{table("Failed lines by reason", heads, rows)}</section>'


def _counted(counts: Mapping[str, int], names: dict[str, str]) -> list[Bar]:
    return [Bar(named := names.get(name, name), named, count) for name, count in _most_frequent(counts)]


def _binned(histogram: BinCounts, form: str) -> list[Bar]:
    bars = []
    for lower, upper, count in histogram.bins():
        above = "or more" if upper is None else f"to {form.format(upper)}"
        bars.append(Bar(f"{form.format(lower)} {above}", form.format(lower), count))
    return bars


def _most_frequent(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda entry: -entry[1])

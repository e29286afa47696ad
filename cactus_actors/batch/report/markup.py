"""Parts of a page: tables and bar charts, as HTML that needs neither scripts nor other files."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 640, 220, 56, 40, 12
_MAX_LABELS = 8


class Bar(NamedTuple):
    """A bar of a chart: its label in words, the shorter one below it, and its number of lines."""

    label: str
    tick: str
    num_lines: int


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column has the names of its rows."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
        for name, *cells in rows
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def plot(identity: str, title: str, unit: str, bars: Sequence[Bar]) -> str:
    """A bar chart with its table beside it; `unit` is the head of the bars' names. Empty without bars."""
    total = sum(bar.num_lines for bar in bars)
    if not total:
        return ""
    return (
        f'<section aria-labelledby="{identity}"><h2 id="{identity}">{escape(title)}</h2><div class="plot">'
        f"{_chart(identity, title, unit, bars)}{table(title, (unit, 'lines', 'share', 'so far'), _rows(bars, total))}"
        "</div></section>"
    )


def _rows(bars: Sequence[Bar], total: int) -> list[list[str]]:
    rows, so_far = [], 0
    for bar in bars:
        so_far += bar.num_lines
        rows.append([bar.label, f"{bar.num_lines:,}", share(bar.num_lines, total), share(so_far, total)])
    return rows


def share(part: int, whole: int) -> str:
    """A part of a whole in percent."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _chart(identity: str, title: str, unit: str, bars: Sequence[Bar]) -> str:
    highest = max(bar.num_lines for bar in bars)
    floor, step = _HEIGHT - _BOTTOM, (_WIDTH - _LEFT) / len(bars)
    width = min(0.8 * step, 80.0)
    every = -(-len(bars) // _MAX_LABELS)
    parts = [f'<title id="{identity}-chart">{escape(f"{title}: lines by {unit}; the table has the numbers")}</title>']
    for part in (0.0, 0.5, 1.0):
        y = floor - part * (floor - _TOP)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        if (value := highest * part).is_integer():
            parts.append(f'<text class="value" x="{_LEFT - 6}" y="{y + 4:.1f}">{value:,.0f}</text>')
    for place, bar in enumerate(bars):
        middle = _LEFT + (place + 0.5) * step
        height = bar.num_lines / highest * (floor - _TOP)
        parts.append(
            f'<rect x="{middle - width / 2:.1f}" y="{floor - height:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
        )
        if place % every == 0:
            parts.append(f'<text class="tick" x="{middle:.1f}" y="{floor + 16}">{escape(bar.tick)}</text>')
    parts.append(f'<text class="tick" x="{(_LEFT + _WIDTH) / 2}" y="{_HEIGHT - 6}">{escape(unit)}</text>')
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{identity}-chart">{"".join(parts)}</svg>'

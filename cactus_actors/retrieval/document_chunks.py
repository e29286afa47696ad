"""Cuts a document into chunks for search and prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_CHARACTERS = 800
OVERLAP_CHARACTERS = 120

_HEADING = re.compile(r"#{1,6}\s+\S")
_FENCE = re.compile(r"\s*(```|~~~)")
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+")


@dataclass(frozen=True, slots=True)
class DocumentChunk:
    """A part of the document `source`; `text` begins with the headings above it."""

    source: str
    text: str


def chunks_of(source: str, text: str) -> list[DocumentChunk]:
    """The document's chunks in order, each at most MAX_CHARACTERS long, without its headings.

    Paragraphs are kept whole where they fit; after a cut, a paragraph continues with an overlap. A heading of
    Markdown begins a new piece.
    """
    chunks = []
    for headings, body in _sections(text):
        prefix = "\n".join(headings)
        for part in _packed(body):
            chunks.append(DocumentChunk(source, f"{prefix}\n\n{part}" if prefix else part))
    return chunks


def _sections(text: str) -> Iterator[tuple[list[str], str]]:
    """Each run of text between headings, with the headings above it from the outermost on."""
    headings: dict[int, str] = {}
    lines: list[str] = []
    is_in_fence = False
    for line in text.splitlines():
        is_in_fence ^= bool(_FENCE.match(line))
        if is_in_fence or not _HEADING.match(line):
            lines.append(line)
            continue
        if any(map(str.strip, lines)):
            yield list(headings.values()), "\n".join(lines)
        lines = []
        level = len(line) - len(line.lstrip("#"))
        headings = {known: title for known, title in headings.items() if known < level}
        headings[level] = line.lstrip("#").strip()[:MAX_CHARACTERS]
    if any(map(str.strip, lines)):
        yield list(headings.values()), "\n".join(lines)


def _packed(body: str) -> Iterator[str]:
    """Paragraphs side by side up to MAX_CHARACTERS."""
    packed = ""
    for paragraph in filter(None, map(str.strip, re.split(r"\n\s*\n", body))):
        if packed and len(packed) + 2 + len(paragraph) > MAX_CHARACTERS:
            yield packed
            packed = ""
        *full, packed = _cut(f"{packed}\n\n{paragraph}" if packed else paragraph)
        yield from full
    if packed:
        yield packed


def _cut(text: str) -> list[str]:
    """A text in pieces that fit, each but the first beginning with the end of the one before it."""
    pieces = []
    while len(text) > MAX_CHARACTERS:
        stop = _last_break(text)
        pieces.append(text[:stop].rstrip())
        text = text[_first_break(text, stop) :].lstrip()
    return [*pieces, text]


def _last_break(text: str) -> int:
    """The place to cut: after a sentence, else between words, else at the limit."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text, MAX_CHARACTERS // 2, MAX_CHARACTERS)]
    if ends:
        return ends[-1]
    return text.rfind(" ", MAX_CHARACTERS // 2, MAX_CHARACTERS) + 1 or MAX_CHARACTERS


def _first_break(text: str, stop: int) -> int:
    """Start of the piece after a cut: a sentence before the cut, else a word."""
    first = max(1, stop - OVERLAP_CHARACTERS)
    for match in _SENTENCE_END.finditer(text, first, stop):
        if match.end() < stop:
            return match.end()
    return text.find(" ", first, stop - 1) + 1 or stop

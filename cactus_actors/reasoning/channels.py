"""An answer of several messages, each with a heading that names its channel: OpenAI's harmony format."""

from __future__ import annotations

import re
from typing import Literal

from cactus_actors.reasoning.marks import Marks
from cactus_actors.reasoning.split import ReasoningSplitter, Start, State

Kind = Literal["reasoning", "answer", "call"]

_HEADINGS = Marks(["<|channel|>", "<|start|>", " to="])
_ENDS = Marks(["<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>"])
_BODY = "<|message|>"
_ANALYSIS = re.compile(r"<\|channel\|>\s*analysis\b")
_BETWEEN = "\n\n"
"""Separates two messages of one kind."""


class ChannelSplitter(ReasoningSplitter):
    """Messages of the channel `analysis` are reasoning, those with a recipient are calls, all others the answer.

    A call stays in the text unchanged, from its heading (`to=` or `<|channel|>`) to its `<|call|>`,
    for the parser of calls. A heading that breaks off is dropped.
    """

    def __init__(self, start: Start) -> None:
        super().__init__()
        # At "begin" a text without a heading is an answer, too.
        self._phase: Literal["begin", "heading"] | Kind = "begin" if start == "undecided" else start
        self._separator = ""
        self._has_answer = self._has_heading = False
        self.has_reasoned = start == "reasoning"

    @property
    def state(self) -> State:
        match self._phase:
            case "begin":
                return "heading" if self._has_heading else "undecided"
            case "heading":
                return "answer" if " to=" in self._held else "heading"
            case "reasoning":
                return "reasoning"
        return "answer"

    @property
    def is_over(self) -> bool:
        return False  # another message may follow

    def _advance(self, *, is_over: bool) -> bool:
        match self._phase:
            case "begin":
                return self._begin(is_over=is_over)
            case "heading":
                return self._read_heading(is_over=is_over)
            case kind:
                return self._read_body(kind, is_over=is_over)

    def _begin(self, *, is_over: bool) -> bool:
        if _HEADINGS.at_start(self._held) is not None:
            self._phase, self._has_heading = "heading", True
        elif not is_over and _HEADINGS.may_become(self._held):
            return False
        else:
            self._enter("answer")
        return True

    def _read_heading(self, *, is_over: bool) -> bool:
        heading, mark, rest = self._held.partition(_BODY)
        if not mark:
            self._held = "" if is_over else self._held
            return False
        self._held = rest
        if " to=" in heading:
            self._enter("call")
            self._add_text("call", heading.removeprefix("<|start|>assistant") + mark)
        else:
            self._enter("reasoning" if _ANALYSIS.search(heading) else "answer")
        return True

    def _enter(self, kind: Kind) -> None:
        self._phase = kind
        if kind == "reasoning":
            self._trimmed.separate(_BETWEEN)
            self.has_reasoned = True
        else:
            self._separator = _BETWEEN if kind == "answer" and self._has_answer else ""

    def _read_body(self, kind: Kind, *, is_over: bool) -> bool:
        found = _ENDS.find(self._held)
        if found is None:
            num_certain = len(self._held) - (0 if is_over else _ENDS.num_unfinished(self._held))
            self._add_text(kind, self._held[:num_certain])
            self._held = self._held[num_certain:]
            return False
        begins_heading = _HEADINGS.at_start(found[0]) is not None
        self._add_text(kind, self._held[: found.start()])
        self._held = self._held[found.start() if begins_heading else found.end() :]
        if kind == "call" and found[0] == "<|call|>":
            self._add_text(kind, found[0])
        self._phase = "begin"
        return True

    def _add_text(self, kind: Kind, text: str) -> None:
        if kind == "reasoning":
            self._reasoning.append(self._trimmed.add(text))
        elif text:
            self._text.append(self._separator + text)
            self._separator = ""
            self._has_answer = self._has_answer or kind == "answer"

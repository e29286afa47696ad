"""Splits reasoning between two marks from the answer after it, which two more marks may enclose."""

from __future__ import annotations

import re
from typing import Literal

from cactus_actors.reasoning.marks import Marks
from cactus_actors.reasoning.reasoning_markup import ReasoningMarkup
from cactus_actors.reasoning.split import ReasoningSplitter, Start, State


class TagSplitter(ReasoningSplitter):
    """Splits at the marks of a markup; there is one reasoning, at the beginning."""

    def __init__(self, markup: ReasoningMarkup, start: Start, *, keeps_space: bool) -> None:
        super().__init__()
        self._opens = Marks(markup.opens)
        self._closes = Marks(markup.closes)
        self._answer_opens = Marks(text for text, _ in markup.answers if text)
        self._answer_closes = Marks(text for _, text in markup.answers)
        space = "" if keeps_space else r"\s*"
        self._closed_answer = re.compile(rf"{space}(?:{self._answer_closes.pattern})\s*\Z")
        self._is_open = start == "reasoning"
        self._keeps_space = keeps_space
        self._phase: Literal["begin", "reasoning", "between", "answer"] = "answer" if start == "answer" else "begin"
        self.has_reasoned = self._is_open

    @property
    def state(self) -> State:
        if self._phase == "begin":
            return "reasoning" if self._is_open else "undecided"
        return "reasoning" if self._phase == "reasoning" else "answer"

    @property
    def is_over(self) -> bool:
        return self._phase in ("between", "answer")

    def _advance(self, *, is_over: bool) -> bool:
        match self._phase:
            case "begin":
                return self._begin(is_over=is_over)
            case "reasoning":
                return self._reason(is_over=is_over)
            case "between":
                return self._pass_between(is_over=is_over)
        self._answer(is_over=is_over)
        return False

    def _begin(self, *, is_over: bool) -> bool:
        begun = self._held.lstrip()
        if (mark := self._opens.at_start(begun)) is not None:  # models repeat the mark that the prompt has opened
            self._held = begun[len(mark) :]
            self._phase, self.has_reasoned = "reasoning", True
        elif not is_over and self._may_begin(begun):
            return False
        elif self._is_open:
            self._phase = "reasoning"
        else:
            is_marked = self._answer_opens.at_start(begun) is not None
            self._phase = "between" if is_marked else "answer"
        return True

    def _may_begin(self, begun: str) -> bool:
        may_answer = not self._is_open and self._answer_opens.may_become(begun)
        return self._opens.may_become(begun) or may_answer

    def _reason(self, *, is_over: bool) -> bool:
        found = self._closes.find(self._held)
        if found is not None:
            self._reasoning.append(self._trimmed.add(self._held[: found.start()]))
            self._held = self._held[found.end() :]
            self._phase = "between"
            return True
        num_certain = len(self._held) - (0 if is_over else self._closes.num_unfinished(self._held))
        self._reasoning.append(self._trimmed.add(self._held[:num_certain]))
        self._held = self._held[num_certain:]
        return False

    def _pass_between(self, *, is_over: bool) -> bool:
        """White space, and the mark that opens the answer."""
        rest = self._held.lstrip()
        mark = self._answer_opens.at_start(rest)
        if mark is not None:
            self._held = rest[len(mark) :]
            self._answer_opens = Marks(())
            return True
        if not is_over and (self._answer_opens.may_become(rest) or not (rest or self._keeps_space)):
            return False
        self._held = self._held if self._keeps_space else rest
        self._phase = "answer"
        return True

    def _answer(self, *, is_over: bool) -> None:
        """Emit the answer, without a mark that closes it."""
        text, self._held = self._held, ""
        if self._answer_closes:
            closed = self._closed_answer.search(text)
            num_certain = len(text) if is_over else self._num_certain(text)
            if closed is not None:
                num_certain = closed.start()
            text, self._held = text[:num_certain], "" if is_over else text[num_certain:]
        self._text.append(text)

    def _num_certain(self, text: str) -> int:
        """Length of the answer before a possible closing mark."""
        certain = text[: len(text) - self._answer_closes.num_unfinished(text)]
        return len(certain) if self._keeps_space else len(certain.rstrip())

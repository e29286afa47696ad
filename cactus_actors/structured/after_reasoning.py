"""A grammar that starts after the reasoning, which is free text and optional."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from cactus_actors.reasoning import MARKUPS, ReasoningMarkup, Start
from cactus_actors.structured.compiled import Grammar, lark_grammar, param_of
from cactus_actors.tools.grammar_builder import TokenNames, control_ids

_ANSWER = "answer"
_SPACE = r"\s{0,8}"
"""Text that a model may write before the mark that opens its reasoning."""
_TEXT = "(FREE)?"


def after_reasoning(grammar: str, markup: str, tokenizer: TokenNames, *, start: Start, is_call: bool = False) -> str:
    """The grammar of reasoning in the markup of that name, then of the serialised `grammar`.

    `start` is the state at which the text begins; unless it begins in the reasoning, there may be none. A grammar
    that `is_call` includes the heading of its message in markups with headings.
    """
    known = _Marks(MARKUPS[markup], tokenizer)
    rule = known.channels(is_call) if known.markup.has_channels else known.tags(start)
    lines = [f"start: {rule}", *known.terminals]
    first, *others = json.loads(grammar)["grammars"]
    head: Grammar = {"name": param_of(grammar), **lark_grammar("\n".join(lines))}
    return json.dumps({"grammars": [head, {**first, "name": _ANSWER}, *others]})


class _Marks:
    """The marks of a markup as terms of rules: control tokens by id, because they have no characters."""

    def __init__(self, markup: ReasoningMarkup, tokenizer: TokenNames) -> None:
        self.markup = markup
        self.terminals: list[str] = []
        self._control = control_ids(markup.tokens, tokenizer)
        texts = "|".join(map(re.escape, self._control))
        self._split = re.compile(f"({texts})") if texts else None

    def tags(self, start: Start) -> str:
        """Reasoning between two marks, then the answer, which control tokens may enclose."""
        opening, closing, answer = self._opening(), self._closing(), self._answer()
        if start == "reasoning":
            return f"{closing} {answer}"
        return f"(({opening}) {closing})? {answer}"

    def channels(self, is_call: bool) -> str:
        """Messages that are reasoning, then the one that is the answer."""
        opening, closing = self._terms(self.markup.opens[0]), self._terms(self.markup.closes[0])
        next_one = self._terms("<|start|>assistant")
        heading = "" if is_call else self._terms("<|channel|>final<|message|>")
        self.terminals.append("FREE: /(?s:.+)/")
        return f"({opening} {_TEXT} {closing} {next_one})* {heading} @{_ANSWER}"

    def _opening(self) -> str:
        forms = []
        for number, mark in enumerate(self.markup.opens):
            if self._is_text(mark):
                self.terminals.append(f"OPEN_{number}: /{_SPACE}{_expression([mark])}/")
                forms.append(f"OPEN_{number}")
            else:
                self._add("SPACE", r"\s{1,8}")
                forms.append(f"(SPACE)? {self._terms(mark)}")
        return " | ".join(forms)

    def _closing(self) -> str:
        """Any text up to the first mark that closes it."""
        if all(map(self._is_text, self.markup.closes)):
            self.terminals.append(f"reasoning[lazy]: /(?s:.*)({_expression(self.markup.closes)})/")
            return "reasoning"
        self._add("FREE", "(?s:.+)")
        return f"{_TEXT} ({' | '.join(map(self._terms, self.markup.closes))})"

    def _answer(self) -> str:
        pairs = [
            f"{self._terms(opening)} @{_ANSWER} {self._terms(closing)}"
            for opening, closing in self.markup.answers
            if opening and not (self._is_text(opening) or self._is_text(closing))
        ]
        return f"({' | '.join([f'@{_ANSWER}', *pairs])})"

    def _add(self, name: str, expression: str) -> None:
        line = f"{name}: /{expression}/"
        if line not in self.terminals:
            self.terminals.append(line)

    def _is_text(self, mark: str) -> bool:
        return self._split is None or self._split.search(mark) is None

    def _terms(self, mark: str) -> str:
        pieces = [mark] if self._split is None else self._split.split(mark)
        ids = self._control
        return " ".join(f"<[{ids[piece]}]>" if piece in ids else json.dumps(piece) for piece in pieces if piece)


def _expression(marks: Iterable[str]) -> str:
    """An expression for any of these texts."""
    return "|".join(re.escape(mark).replace("/", r"\/").replace(r"\ ", " ") for mark in marks)

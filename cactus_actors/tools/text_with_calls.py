"""The grammar of any text with calls in it, each of which obeys its schema.

The text is free up to the start of a call, which is then enforced. Other starts that would be parsed as a call
(another spelling, marks of other families) are excluded.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cactus_actors.reasoning import ReasoningMarkup
from cactus_actors.tools.form import Form
from cactus_actors.tools.grammar import CallsGrammar
from cactus_actors.tools.grammar_builder import GrammarBuilder, TokenNames, escaped
from cactus_actors.tools.json_body import JsonBody
from cactus_actors.tools.markup import Markup
from cactus_actors.tools.named_body import NamedBody
from cactus_actors.tools.openings import first_openings, is_certain, openings
from cactus_actors.tools.parameter_body import ParameterBody
from cactus_actors.tools.python_body import PythonBody
from cactus_actors.tools.tool_functions import Function

_SPACE = r"\s{0,8}"


def text_with_calls_grammar(
    markup: Markup,
    functions: Sequence[Function],
    tokenizer: TokenNames,
    *,
    parallel: bool,
    reasoning: ReasoningMarkup | None = None,
) -> CallsGrammar:
    """Any text, with calls of `functions` in it, or at most one without `parallel`.

    It does not begin with reasoning in the markup `reasoning`, for which there is another grammar; with channels,
    messages may be reasoning, also between others.
    """
    return _TextWithCalls(markup, functions, tokenizer, parallel).grammar(reasoning)


class _TextWithCalls:
    def __init__(self, markup: Markup, functions: Sequence[Function], tokenizer: TokenNames, parallel: bool) -> None:
        self._markup = markup
        self._functions = functions
        self._parallel = parallel
        self._rules = GrammarBuilder(markup.tokens, tokenizer)
        self._num_heads = 0

    def grammar(self, reasoning: ReasoningMarkup | None) -> CallsGrammar:
        """The rules of the whole text."""
        names = [one.name for one in self._functions]
        anywhere = openings(self._markup, names)
        first = first_openings(self._markup, names, () if reasoning is None else reasoning.opens)
        without = f"~/(?s:.*)({anywhere})(?s:.*)/ & ~/\\s*({first})(?s:.*)/"
        calls = " | ".join(self._calls_by_mark())
        others = [self._rules.literal(token) for token in self._hidden_tokens()]
        if reasoning is not None and reasoning.has_channels:
            others.append(self._thoughts(reasoning))
            without += f" & ~/{self._rules.texts(reasoning.opens[0])}/"
        tokens = " | ".join(others)
        plain = f"((TEXT)? ({tokens}))*" if tokens else ""
        bare = self._bare_calls()
        if self._parallel:
            marked = f"({calls}{f' | (TEXT)? ({tokens})' if tokens else ''})*"
            start = f"{f'({bare})?' if bare else ''} {marked}"
        else:
            start = f"({' | '.join(one for one in (bare, f'{plain} ({calls})') if one)})? {plain}"
        lines = [f"start: {start} (TEXT)?", f"TEXT: /(?s:.+)/ & {without}", f"BEFORE: /(?s:.*)/ & {without}"]
        return CallsGrammar("\n".join([*lines, *self._rules.rules]), self._rules.schemas)

    def _calls_by_mark(self) -> list[str]:
        """The terms of a text and the calls after it, for each form of calls."""
        first, json_form = _first_form(self._markup), self._markup.json_form
        own = [one for one in self._functions if first.body.can_write(one, self._rules)]
        others = [one for one in self._functions if one not in own]
        ways: list[str] = []
        for form, functions in ((first, own), (json_form, others)):
            if functions and is_certain(form):
                ways.append(self._after_mark(form, functions))
            else:
                tail = self._tail(form, functions)
                ways += [self._after_head(form, one, tail) for one in functions]
        return ways

    def _after_mark(self, form: Form, functions: Sequence[Function]) -> str:
        """Calls whose mark alone proves them."""
        literal = self._rules.literal
        head = ("".join(form.open) + form.begin).lstrip()
        body = form.body
        if not head and isinstance(body, NamedBody | ParameterBody):
            body = msgspec.structs.replace(body, before="")
        rule = body.rule(functions, self._rules)
        parts = [literal(head.removeprefix(form.mark)), rule, self._tail(form, functions)]
        rest = self._rules.rule(" ".join(part for part in parts if part))
        if self._rules.has_control(form.mark):
            return f"(TEXT)? {literal(form.mark)} {rest}"
        return f"{self._head(f'BEFORE /{escaped(form.mark)}/')} {rest}"

    def _after_head(self, form: Form, function: Function, tail: str) -> str:
        """Calls that only the name of a function distinguishes from text."""
        head, rest = _parts(form, function, self._rules)
        pieces = [escaped(piece.strip()) for piece in (*form.open, form.begin) if piece]
        return f"{self._head(f'BEFORE /{_SPACE.join([*pieces, head])}/')} {rest} {tail}".rstrip()

    def _tail(self, form: Form, functions: Sequence[Function]) -> str:
        """The rest after the first call: more calls if a mark ends them all, and that mark; may be empty."""
        literal = self._rules.literal
        terms = [literal(form.end)]
        is_marked = form.close or (form.open and form.begin and not form.separator)
        if is_marked and self._parallel:
            call = [literal(form.separator), literal(form.begin), form.body.rule(functions, self._rules)]
            terms.append(f"({' '.join(term for term in (*call, literal(form.end)) if term)})*")
        elif isinstance(form.body, JsonBody) and form.open:
            terms.append(self._further(form.body, functions))
        terms = [term for term in (*terms, literal("".join(form.close))) if term]
        return self._rules.rule(" ".join(terms)) if terms else ""

    def _bare_calls(self) -> str:
        """The terms of calls without marks at the start of a text; empty if the family has none."""
        body = self._markup.forms[0].body
        ways = []
        for form in self._markup.bare:
            if isinstance(form.body, JsonBody) and isinstance(body, JsonBody):
                form = msgspec.structs.replace(form, body=body)
            own = [one for one in self._functions if form.body.can_write(one, self._rules)]
            parts = [_parts(form, one, self._rules) for one in own]
            calls = [f"{self._head(f'/{_SPACE}{head}/')} {rest}" for head, rest in parts]
            more = self._further(form.body, own) if isinstance(form.body, JsonBody) else ""
            ways += [f"({' | '.join(calls)}) {more}"] if calls else []
        return " | ".join(ways)

    def _further(self, body: JsonBody, functions: Sequence[Function]) -> str:
        """The terms of more calls that follow as objects, which are read without marks between them."""
        if not self._parallel:
            return ""
        parts = [body.parts(one, self._rules) for one in functions]
        lead = f"{_SPACE}[,;]?{_SPACE}"
        calls = [f"{self._head(f'/{lead}{head}/')} {rest}" for head, rest in parts]
        return f"({' | '.join(calls)})*"

    def _thoughts(self, reasoning: ReasoningMarkup) -> str:
        """A message of reasoning, with any text."""
        self._rules.rules.append("FREE: /(?s:.+)/")
        opening, closing = (self._rules.literal(mark) for mark in (reasoning.opens[0], reasoning.closes[0]))
        return self._rules.rule(f"{opening} (FREE)? {closing}")

    def _hidden_tokens(self) -> list[str]:
        """Control tokens in texts without calls."""
        marks = "".join(self._markup.hidden + self._markup.hidden_first)
        return [token for token in self._markup.tokens if token in marks and self._rules.has_control(token)]

    def _head(self, terms: str) -> str:
        """A rule that ends as soon as its text is one of the terminal `terms`."""
        self._num_heads += 1
        self._rules.rules.append(f"HEAD_{self._num_heads}: {terms}")
        return self._rules.rule(f"HEAD_{self._num_heads}", "[lazy]")


def _first_form(markup: Markup) -> Form:
    """The first form, or the one whose mark is a part of its mark."""
    first = markup.forms[0]
    return next((form for form in markup.forms if form.mark and form.mark in first.mark[1:]), first)


def _parts(form: Form, function: Function, rules: GrammarBuilder) -> tuple[str, str]:
    assert isinstance(form.body, JsonBody | PythonBody | NamedBody)
    return form.body.parts(function, rules)

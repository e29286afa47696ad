"""Grammars of tool calls, in the model's own form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cactus_actors.tools.form import Form
from cactus_actors.tools.grammar_builder import GrammarBuilder, TokenNames, escaped
from cactus_actors.tools.json_body import JsonBody
from cactus_actors.tools.markup import Markup
from cactus_actors.tools.tool_functions import Function


class CallsGrammar(NamedTuple):
    """A grammar in llguidance's notation, and the schemas of the JSON that it refers to as `@name`."""

    lark: str
    schemas: dict[str, Any]


def calls_grammar(
    markup: Markup, functions: Sequence[Function], tokenizer: TokenNames, *, parallel: bool
) -> CallsGrammar:
    """One call of one of `functions`, or one or more with `parallel`; of any if there are none."""
    grammar = GrammarBuilder(markup.tokens, tokenizer)
    return _whole(f"start: {_calls(markup, functions, grammar, parallel)}", grammar)


def calls_or_text_grammar(
    markup: Markup, functions: Sequence[Function], tokenizer: TokenNames, *, parallel: bool
) -> CallsGrammar:
    """As `calls_grammar`, or else any text in which no call begins."""
    grammar = GrammarBuilder(markup.tokens, tokenizer)
    calls = _calls(markup, functions, grammar, parallel)
    text = _text_without_calls(markup)
    for mark in {form.mark for form in markup.forms if len(form.mark) == 1}:
        # Text that could begin both a call and a text belongs to either lexeme.
        text += rf" & ~/{escaped(mark)}(?s:.*)/"
    return _whole(f"start: {calls} | TEXT\nTEXT: {text}", grammar)


def calls_or_json_grammar(
    markup: Markup, functions: Sequence[Function], tokenizer: TokenNames, *, parallel: bool, schema: Any
) -> CallsGrammar:
    """As `calls_grammar`, or else a JSON value that obeys `schema`."""
    grammar = GrammarBuilder(markup.tokens, tokenizer)
    return _whole(f"start: {_calls(markup, functions, grammar, parallel)} | {grammar.json(schema)}", grammar)


def text_grammar(markup: Markup) -> CallsGrammar:
    """Any text in which no call begins."""
    return CallsGrammar(f"start: TEXT\nTEXT: {_text_without_calls(markup)}", {})


def json_calls_grammar(functions: Sequence[Function], *, in_list: bool) -> CallsGrammar:
    """One call as a JSON object without marks, or a list of one or more."""
    grammar = GrammarBuilder((), None)
    call = JsonBody().rule(functions, grammar)
    return _whole(f'start: "[" {call} ("," {call})* "]"' if in_list else f"start: {call}", grammar)


def _whole(start: str, grammar: GrammarBuilder) -> CallsGrammar:
    return CallsGrammar("\n".join([start, *grammar.rules]), grammar.schemas)


def _calls(markup: Markup, functions: Sequence[Function], grammar: GrammarBuilder, parallel: bool) -> str:
    first = markup.bare[0] if markup.is_begun else markup.forms[0]
    own = [one for one in functions if first.body.can_write(one, grammar)]
    others = [one for one in functions if one not in own]
    blocks = [_block(first, own, grammar, parallel)] if own else []
    if others or not functions:
        blocks.append(_block(markup.json_form, others, grammar, parallel))
    if len(blocks) == 1:
        return blocks[0]
    either = grammar.rule(" | ".join(blocks))
    return f'{either} ("\\n" {either})*' if parallel else either


def _block(form: Form, functions: Sequence[Function], grammar: GrammarBuilder, parallel: bool) -> str:
    """The terms of calls in one form with the marks around them."""
    body = form.body.rule(functions, grammar)
    call = " ".join(term for term in (grammar.literal(form.begin), body, grammar.literal(form.end)) if term)
    separator = grammar.literal(form.separator)
    more = f"({separator} {call})*" if parallel else ""
    terms = (grammar.literal("".join(form.open)), call, more, grammar.literal("".join(form.close)))
    return grammar.rule(" ".join(term for term in terms if term))


def _text_without_calls(markup: Markup) -> str:
    """A terminal."""
    anywhere = "|".join(dict.fromkeys(form.opening for form in markup.forms))
    text = f"/(?s:.*)/ & ~/(?s:.*)({anywhere})(?s:.*)/"
    at_first = "|".join(dict.fromkeys(form.opening for form in markup.bare))
    return f"{text} & ~/\\s*({at_first})(?s:.*)/" if at_first else text

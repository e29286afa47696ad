"""How a model writes tool calls, by its chat template and its vocabulary."""

from __future__ import annotations

import re

from cactus_actors.tools.grammar import TokenNames
from cactus_actors.tools.markup import markup_named

# In this order: a model that was trained on other calls than its base keeps the base's vocabulary.
_IN_TEMPLATE = (
    ("<tool_call>", "hermes"),
    ("[TOOL_CALLS]", "mistral"),
    ("<|tool_call_start|>", "lfm2"),
    ("<|tool_list_start|>", "lfm2"),
    ("tool_code", "gemma"),
    ("<|python_tag|>", "llama3"),
    ("ipython", "llama3"),
)
_IN_VOCABULARY = (("<|tool_call_start|>", "lfm2"), ("[TOOL_CALLS]", "mistral"), ("<tool_call>", "hermes"))
_TAKES_TOOLS = re.compile(r"{[%{][^%}]*\b(?:xml_|python_|custom_)?tools\b")


def takes_tools(template_source: str) -> bool:
    """Whether a chat template does anything with tools."""
    return _TAKES_TOOLS.search(template_source) is not None


def markup_of(template_source: str, tokenizer: TokenNames) -> str:
    """The name in MARKUPS of the model's way; plain JSON where neither template nor vocabulary tells one."""
    if not takes_tools(template_source):
        return "gemma" if "<start_of_turn>" in template_source else "json"
    by_template = (name for text, name in _IN_TEMPLATE if text in template_source)
    by_vocabulary = (name for text, name in _IN_VOCABULARY if tokenizer.id_of(text) is not None)
    return next(by_template, None) or next(by_vocabulary, "json")


def tool_tokens_of(markup: str, tokenizer: TokenNames) -> tuple[tuple[int, str], ...]:
    """Id and text of the control tokens of `markup`: what has to be shown for its calls to be seen."""
    ids = ((tokenizer.id_of(text), text) for text in markup_named(markup).tokens)
    return tuple((i, text) for i, text in ids if i is not None and tokenizer.is_special(i))

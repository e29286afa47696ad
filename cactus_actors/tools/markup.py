"""How the families of models write tool calls as text.

Sources: the chat templates of Hermes, Qwen, Llama 3, Mistral and LFM2; Gemma's function-calling guide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from cactus_actors.protocol.results import ToolCall

_NAME = r"[A-Za-z_][\w.]*"
_OBJECT = r"\{\s*\""
_KEYED = r"\{\s*\"(?:name|arguments|parameters|type|function|id)\""


class Opening(msgspec.Struct, frozen=True):
    """How a call begins: `begun` matches up to its `value`, `may_begin` every text that may still get there.

    Every beginning of a text that `begun` matches is matched by one of the two in full, so that a text can
    be refused as soon as neither does, however it arrives.
    """

    begun: re.Pattern[str]
    may_begin: re.Pattern[str]


class Block(msgspec.Struct, frozen=True):
    """The texts between which calls stand; without `close` they end by themselves."""

    open: str
    close: str = ""


class Markup(msgspec.Struct, frozen=True, kw_only=True):
    """One family's way.

    `opening` begins a call inside a block, `bare` one without any, which counts only at the beginning of a
    text. In its plainest form a list of calls is `prefix`, one JSON object with `name` and `arguments_key` a
    call, `separator` between them, and `suffix`. `tokens` are the texts of the markup that may be control
    tokens of a vocabulary.
    """

    blocks: tuple[Block, ...]
    opening: Opening
    bare: Opening
    prefix: str
    separator: str
    suffix: str
    arguments_key: str = "arguments"
    tokens: tuple[str, ...] = ()


def _opening(begun: str, may_begin: str) -> Opening:
    return Opening(re.compile(begun), re.compile(may_begin))


_JSON = _opening(rf"\s*(?P<value>\[\s*{_OBJECT}|{_OBJECT})", r"\s*(?:\[\s*)?(?:\{\s*)?")
_BARE_JSON = _opening(rf"\s*(?P<value>\[\s*{_KEYED}|{_KEYED})", r"\s*(?:\[\s*)?(?:\{\s*(?:\"[a-z]{0,10})?)?")
_JSON_OR_PYTHON = _opening(
    rf"\s*(?P<value>\[\s*{_OBJECT}|{_OBJECT}|\[\s*{_NAME}\(|{_NAME}\()",
    rf"\s*(?:\[\s*)?(?:\{{\s*|{_NAME})?",
)
_BARE_LIST = _opening(
    rf"\s*(?P<value>\[\s*{_KEYED}|{_KEYED}|\[\s*{_NAME}\()",
    rf"\s*(?:\[\s*{_NAME}|(?:\[\s*)?(?:\{{\s*(?:\"[a-z]{{0,10}})?)?)",
)
_JSON_OR_NAMED = _opening(
    rf"\s*(?:(?P<name>[\w.-]{{1,128}})(?:\[CALL_ID\][\w-]{{0,64}})?\[ARGS\]\s*(?P<arguments>\{{)"
    rf"|(?P<value>\[\s*{_OBJECT}|{_OBJECT}))",
    r"\s*(?:(?:\[\s*)?(?:\{\s*)?|[\w.-]{1,128}(?:\[C?A?L?L?_?I?D?|\[CALL_ID\][\w-]{0,64})?"
    r"(?:\[A?R?G?S?|\[ARGS\]\s*)?)",
)

_FENCES = (Block("```tool_code", "```"), Block("```tool_call", "```"), Block("```json", "```"))

MARKUPS: dict[str, Markup] = {
    "hermes": Markup(
        blocks=(Block("<tool_call>", "</tool_call>"),),
        opening=_JSON,
        bare=_BARE_JSON,
        prefix="<tool_call>\n",
        separator="\n</tool_call>\n<tool_call>\n",
        suffix="\n</tool_call>",
        tokens=("<tool_call>", "</tool_call>"),
    ),
    "llama3": Markup(
        blocks=(Block("<|python_tag|>"),),
        opening=_JSON,
        bare=_BARE_JSON,
        prefix="<|python_tag|>",
        separator="; ",
        suffix="",
        arguments_key="parameters",
        tokens=("<|python_tag|>",),
    ),
    "mistral": Markup(
        blocks=(Block("[TOOL_CALLS]"),),
        opening=_JSON_OR_NAMED,
        bare=_BARE_JSON,
        prefix="[TOOL_CALLS][",
        separator=", ",
        suffix="]",
        tokens=("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"),
    ),
    "lfm2": Markup(
        blocks=(Block("<|tool_call_start|>", "<|tool_call_end|>"),),
        opening=_JSON_OR_PYTHON,
        bare=_BARE_LIST,
        prefix="<|tool_call_start|>[",
        separator=", ",
        suffix="]<|tool_call_end|>",
        tokens=("<|tool_call_start|>", "<|tool_call_end|>"),
    ),
    "gemma": Markup(
        blocks=_FENCES,
        opening=_JSON_OR_PYTHON,
        bare=_BARE_JSON,
        prefix="```json\n",
        separator="\n",
        suffix="\n```",
    ),
    "json": Markup(
        blocks=_FENCES[1:],
        opening=_JSON,
        bare=_BARE_JSON,
        prefix="```json\n",
        separator="\n",
        suffix="\n```",
    ),
}


def markup_named(name: str) -> Markup:
    """The markup of that name; plain JSON for one that is not known here."""
    return MARKUPS.get(name, MARKUPS["json"])


def render_calls(name: str, calls: Sequence[ToolCall]) -> str:
    """The text that is read as `calls` under the markup `name`; empty without calls."""
    markup = markup_named(name)
    objects = [{"name": call.name, markup.arguments_key: call.arguments} for call in calls]
    texts = [msgspec.json.encode(one).decode() for one in objects]
    return markup.prefix + markup.separator.join(texts) + markup.suffix if calls else ""

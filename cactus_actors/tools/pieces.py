"""The pieces of a text that is parsed for tool calls, and limits on them."""

from __future__ import annotations

import msgspec

from cactus_actors.protocol.results import IncompleteCall, ToolCall

MAX_HEAD = 1 << 16
"""Characters of a call before it is known to be one."""
MAX_ARGUMENTS = 1 << 19
"""Characters of the arguments of one call."""
MAX_DEPTH = 64
MAX_CALLS = 128
MAX_REREAD = 1 << 18
"""Characters of failed attempts to parse a call in one text; each attempt reads up to its fault."""


class CallBegun(msgspec.Struct, frozen=True):
    """A call of an offered tool begins; ArgumentsText follow, then a ToolCall or an IncompleteCall."""

    name: str


class ArgumentsText(msgspec.Struct, frozen=True):
    """The next characters of the JSON text of the arguments of the call that has begun."""

    text: str


Piece = str | CallBegun | ArgumentsText | ToolCall | IncompleteCall
Call = ToolCall | IncompleteCall


class Malformed(Exception):
    """Raised where the text is not a call."""


class Ended(Malformed):
    """The text ends within a call."""

"""Tool calls as text: a JSON object with `name` and `arguments` between <tool_call> tags."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from cactus_actors.protocol.results import ToolCall

_BLOCK = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def render_tool_calls(calls: Sequence[ToolCall]) -> str:
    """The text in which a local model would have made these calls."""
    return "\n".join(f"<tool_call>\n{msgspec.json.encode(call).decode()}\n</tool_call>" for call in calls)


def split_tool_calls(text: str) -> tuple[str, list[ToolCall]]:
    """The text without its calls, and the calls in order.

    A completion that is nothing but a call may leave the tags out. If any call is malformed, all of `text`
    stays text and there are no calls.
    """
    blocks = _BLOCK.findall(text)
    try:
        if blocks:
            return _BLOCK.sub("", text).strip(), [_decode_call(block) for block in blocks]
        return "", [_decode_call(text)]
    except (msgspec.DecodeError, RecursionError):
        return text, []


def _decode_call(text: str) -> ToolCall:
    return msgspec.json.decode(text.strip(), type=ToolCall)

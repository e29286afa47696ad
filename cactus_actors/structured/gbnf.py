from __future__ import annotations

from cactus_actors.structured.tool_calls import TokenNames


def lark_of_gbnf(text: str, start: str, tokenizer: TokenNames) -> str:
    raise NotImplementedError

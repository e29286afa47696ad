"""The tools of a job, and the obligation to call one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.tools.tool_choice import tool_choice
from cactus_actors.tools.tool_definitions import is_strict, name_of, normalised_tools
from cactus_actors.tools.tool_ranking import select_tools

JSON_FORMS = ("json_schema", "response_format")
"""The structured-output options beside which a model may call a tool instead."""


class ToolOffer(NamedTuple):
    """The tools in the prompt, those that a forced call may name, and the names of a selection.

    `tools` is None if there are none, `selected` if all of the request's are offered. `readable` are all tools of the
    request if only some are offered, because a call of a tool from an earlier prompt counts too. If `is_strict`, the
    model's own calls must obey the schemas of the tools.
    """

    tools: list[dict[str, Any]] | None = None
    is_forced: bool = False
    callable: Sequence[dict[str, Any]] = ()
    selected: list[str] | None = None
    readable: list[dict[str, Any]] | None = None
    is_strict: bool = False


def tool_offer_of(
    tools: Sequence[dict[str, Any]] | None,
    question: str,
    given: Mapping[str, Any],
    *,
    structure: str | None,
    default_top_k: int,
) -> ToolOffer:
    """The tools of a request as its options select them; raises InvalidRequest.

    `structure` is the structured-output option, `default_top_k` the default of `tool_rag_top_k`, 0 for all.
    """
    offered = normalised_tools(tools)
    choice = tool_choice(given)
    if choice.mode == "none":
        return ToolOffer()
    if offered is None:
        if choice.mode == "required":
            field = "force_tools" if given.get("force_tools", False) else "tool_choice"
            raise InvalidRequest(f"{field} requires a call, but the request has no tools", param=field)
        return ToolOffer()
    if structure not in (None, "grammar_root", *JSON_FORMS):
        raise InvalidRequest(f"{structure} and tools exclude each other; tool_choice may be none", param=structure)
    named = [tool for tool in offered if name_of(tool) == choice.name]
    if choice.name is not None and not named:
        raise InvalidRequest(f"there is no tool {choice.name[:80]!r}", param="tool_choice")
    most = given.get("tool_rag_top_k", default_top_k)
    kept = select_tools(question, offered, most, [choice.name] if choice.name else [])
    return ToolOffer(
        tools=kept,
        is_forced=choice.mode == "required",
        callable=named or kept,
        selected=None if len(kept) == len(offered) else [name_of(tool) for tool in kept],
        readable=None if len(kept) == len(offered) else offered,
        is_strict=structure is None and choice.mode != "required" and any(map(is_strict, offered)),
    )

"""Rewrites errors to name a field as the client wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

import msgspec

from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.options import Options

FieldNames: TypeAlias = Mapping[str, str]
"""Field -> its path in the client's request, if that differs."""

OPTION_ALIASES: FieldNames = {
    "max_completion_tokens": "max_tokens",
    "random_seed": "seed",
    "repetition_penalty": "repeat_penalty",
    "safe_mode": "safe_prompt",
    "stop_sequences": "stop",
}
"""Alias -> its option."""


@cache
def spellings_of(option: str) -> tuple[str, ...]:
    """The names under which an option may be given, which is named by one of them."""
    name = OPTION_ALIASES.get(option, option)
    return name, *(alias for alias, of in OPTION_ALIASES.items() if of == name)


_ENGLISH = frozenset({"logprobs", "messages", "prompt", "seed", "stop"})
"""Fields whose names are words: a message about another field may mean the word."""


def given_names(fields: Mapping[str, Any], aliases: FieldNames) -> dict[str, str]:
    """The names of `fields` that are aliases; a field that is given under its own name too keeps that one."""
    return {
        name: alias for alias, name in aliases.items() if fields.get(alias) is not None and fields.get(name) is None
    }


def option_names(options: Options) -> dict[str, str]:
    """The aliases among the options of a request."""
    return given_names(msgspec.structs.asdict(options), OPTION_ALIASES)


def name_as_given(error: CactusError, names: FieldNames) -> None:
    """Rewrite `param` and the message of an error in the client's names.

    A name may be a path, such as `messages[1]`: the place where the client wrote that message.
    """
    head = re.split(r"[.\[]", error.param or "", maxsplit=1)[0]
    for name, given in names.items():
        if name not in error.message or (name in _ENGLISH and name != head):  # a request may have many thousand names
            continue
        error.message = re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", given, error.message)
        error.args = (error.message,)
    if error.param is not None:
        path = error.param
        above = [name for name in names if path.startswith(name) and path[len(name) :][:1] in ("", ".", "[")]
        if above:
            known = max(above, key=len)
            error.param = names[known] + path[len(known) :]


@contextmanager
def errors_name_fields_as_given(names: FieldNames) -> Iterator[None]:
    """Rewrite errors raised inside, see `name_as_given`."""
    try:
        yield
    except CactusError as error:
        name_as_given(error, names)
        raise

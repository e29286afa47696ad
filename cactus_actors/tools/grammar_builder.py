"""The parts of a grammar of tool calls: one rule in llguidance's notation, and the JSON that it refers to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

_SHORT = 200
"""Characters of terms that may be repeated; longer ones are a rule."""


class TokenNames(Protocol):
    """The part of a tokenizer that is needed to refer to its tokens."""

    @property
    def vocab_size(self) -> int: ...

    def id_of(self, token: str) -> int | None: ...

    def is_special(self, token_id: int) -> bool: ...


def control_ids(texts: Iterable[str], tokenizer: TokenNames) -> dict[str, int]:
    """The ids of those of `texts` that are control tokens of the vocabulary."""
    ids = {text: tokenizer.id_of(text) for text in texts}
    return {text: i for text, i in ids.items() if i is not None and tokenizer.is_special(i)}


class GrammarBuilder:
    """Collects rules and schemas under names of its own."""

    def __init__(self, control_tokens: Iterable[str], tokenizer: TokenNames | None) -> None:
        self._control = {} if tokenizer is None else control_ids(control_tokens, tokenizer)
        self.rules: list[str] = []
        self.schemas: dict[str, Any] = {}
        """By the name that a rule refers to, without its `@`."""

    def literal(self, text: str) -> str:
        """`text` as terms of a rule: control tokens by their id, because they have no characters."""
        return " ".join(
            f"<[{self._control[one]}]>" if one in self._control else json.dumps(one) for one in self._pieces(text)
        )

    def texts(self, text: str) -> str:
        """An expression, between slashes, for the text in `text` apart from its control tokens."""
        return "|".join(escaped(one) for one in self._pieces(text) if one not in self._control)

    def _pieces(self, text: str) -> list[str]:
        names = sorted(self._control, key=len, reverse=True)
        pieces = re.split(f"({'|'.join(map(re.escape, names))})", text) if names else [text]
        return [one for one in pieces if one]

    def has_control(self, text: str) -> bool:
        """True if there are control tokens in `text`."""
        return any(token in text for token in self._control)

    def json(self, schema: Any) -> str:
        """The term of a JSON value that obeys `schema`."""
        name = f"json{len(self.schemas)}"
        self.schemas[name] = schema
        return f"@{name}"

    def rule(self, terms: str, attributes: str = "") -> str:
        """The name of a rule of these terms."""
        name = f"part{len(self.rules)}"
        self.rules.append(f"{name}{attributes}: {terms}")
        return name

    def sequence(self, terms: Sequence[str], required: Sequence[bool], separator: str = "") -> str:
        """`terms` in their order with `separator` between them; those not `required` may be missing."""
        after = first = ""  # the possible continuations: after a term, and before any
        for term, is_required in reversed(list(zip(terms, required, strict=True))):
            with_rest = f"{term} {after}".rstrip()
            further = f"{separator} {term}".lstrip()
            if is_required:
                first, after = with_rest, f"{further} {after}".rstrip()
            else:
                first = f"({with_rest} | {first})" if first else f"({with_rest})?"
                after = f"({further})? {after}".rstrip()
            first, after = (self.rule(one) if len(one) > _SHORT else one for one in (first, after))
        return first

    def text(self, pattern: str, close: str) -> str:
        """The terms of a text that matches `pattern` and has no `close` in it, and of `close` after it."""
        if self.has_control(close):
            return f"/(?s:{pattern})/ {self.literal(close)}"
        name = f"PART{len(self.rules)}"
        self.rules.append(f"{name}: /(?s:{pattern})/ & ~/(?s:.*){escaped(close.strip())}(?s:.*)/")
        return self.rule(name, f"[suffix={json.dumps(close)}]")


def escaped(text: str) -> str:
    """`text` inside of an expression between slashes."""
    return re.escape(text).replace("/", r"\/").replace("\n", "n")

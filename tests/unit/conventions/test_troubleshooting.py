"""The sources can print every message of the troubleshooting page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from tests.support.conventions.sources import product
from tests.support.text.documents import page

HOLE = "\0"
"""The placeholder for computed parts of a text."""
MESSAGES = re.findall(r"^### (?:`` | ?`)(.*?)(?: ``|`)$", page("guide/troubleshooting.md"), re.MULTILINE)


@cache
def texts() -> str:
    """Every string of the product, one per line, with HOLE in place of computed parts."""
    return "\n".join(text for source in product() for text in strings(source.nodes))


def strings(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = [str(one.value) if isinstance(one, ast.Constant) else HOLE for one in node.values]
            yield "".join(parts).replace("\n", " ")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.replace("\n", " ")


def is_printed(message: str) -> bool:
    """True if one string of the sources has the message's words; `…` is a wildcard."""
    pattern = "[^\n]*".join(re.escape(part) for part in message.split("…"))
    return re.search(pattern, texts()) is not None


def test_messages_are_found() -> None:
    assert len(MESSAGES) >= 30


@pytest.mark.parametrize("message", MESSAGES)
def test_the_sources_contain_the_message(message: str) -> None:
    assert is_printed(message)


def test_a_message_that_nothing_prints_is_found() -> None:
    assert not is_printed("the moon is …; try again")

"""docs/reference/errors.md: every type of error."""

from __future__ import annotations

from collections.abc import Iterator

from cactus_actors.batch import batch_errors
from cactus_actors.cli.main import exit_code
from cactus_actors.protocol import errors
from cactus_actors.protocol.errors import CactusError
from docs.generate.layout import first_sentence, item, page

MODULES = (errors.__name__, batch_errors.__name__)
"""Modules whose errors callers see; others that a process has imported are not listed."""
INTRODUCTION = """\
An error has a `type`, a `message`, where a field is at fault its name as `param`, and where it is worth waiting the
seconds as `retry_after`. Over HTTP the body is `{"error": {"message", "type", "param", "code"}}` with the status below
(`code` is the type), and `Retry-After` is a header. The Python client raises the class of that name, which
`cactus_actors.protocol.errors` defines; classes whose names are indented derive from the one above. A command of
`cactus` prints `error: MESSAGE` and ends with the exit code."""


def errors_page() -> str:
    """The text of the page."""
    head = ["| type | HTTP status | class | exit code |", "|---|---|---|---|"]
    rows = [
        f"| `{error.type}` | {error.status or '-'} | {'&nbsp;&nbsp;' * depth}`{error.__name__}` | {_exit_code(error)} |"
        for depth, error in _tree(CactusError)
    ]
    meanings = [item(f"`{error.__name__}`", first_sentence(error.__doc__)) for _, error in _tree(CactusError)]
    return page("Errors", INTRODUCTION, "\n".join([*head, *rows]), "## Meanings", "\n".join(meanings))


def _tree(error: type[CactusError], depth: int = 0) -> Iterator[tuple[int, type[CactusError]]]:
    yield depth, error
    for child in error.__subclasses__():
        if child.__module__ in MODULES:
            yield from _tree(child, depth + 1)


def _exit_code(error: type[CactusError]) -> int:
    return exit_code(error(""))

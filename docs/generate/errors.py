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
seconds as `retry_after`. Over HTTP the body is
`{"error": {"message", "type", "code", "param", "request_id"}}`; `code` is the status below, and `Retry-After` is a
header. The Python client raises the class of that name, which
`cactus_actors.protocol.errors` defines; classes whose names are indented derive from the one above. A command of
`cactus` prints `error: MESSAGE` and ends with the exit code."""
BATCH_CODES = """\
## Codes of batches

A batch of the HTTP gateway that fails has `errors.data`, a list of `code`, `message`, `param` and `line`. Besides the
types above, `code` is one of the following:

- **`empty_file`**: The input file has no line.
- **`invalid_file`**: The input file cannot be read as UTF-8 lines.
- **`too_many_requests`**: The input file has too many lines.
- **`invalid_json_line`**: A line is not valid JSON.
- **`invalid_request`**: A line is not an object with `custom_id`, `method`, `url` and `body`, or has a `cache_salt`.
- **`missing_required_parameter`**: A line has no `custom_id`.
- **`duplicate_custom_id`**: An earlier line has the same `custom_id`.
- **`invalid_method`**: The `method` of a line is not POST.
- **`invalid_url`**: The `url` of a line is not the batch's `endpoint`.

In the error file, `batch_expired` is the code of a line that was not run before the batch expired."""


def errors_page() -> str:
    """The text of the page."""
    head = ["| type | HTTP status | class | exit code |", "|---|---|---|---|"]
    rows = [
        f"| `{error.type}` | {error.status or '-'} | {'&nbsp;&nbsp;' * depth}`{error.__name__}` | {_exit_code(error)} |"
        for depth, error in _tree(CactusError)
    ]
    meanings = [item(f"`{error.__name__}`", first_sentence(error.__doc__)) for _, error in _tree(CactusError)]
    table = "\n".join([*head, *rows])
    return page("Errors", INTRODUCTION, table, "## Meanings", "\n".join(meanings), BATCH_CODES)


def _tree(error: type[CactusError], depth: int = 0) -> Iterator[tuple[int, type[CactusError]]]:
    yield depth, error
    for child in error.__subclasses__():
        if child.__module__ in MODULES:
            yield from _tree(child, depth + 1)


def _exit_code(error: type[CactusError]) -> int:
    return exit_code(error(""))

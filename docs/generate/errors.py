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
Every error has a `type` and a `message`. If one field is at fault, `param` names it; if a later try may succeed,
`retry_after` has the seconds until then.

- **HTTP**: the body is `{"error": {"message", "type", "code", "param", "request_id"}}`, where `code` is the status;
  `retry_after` is the header `Retry-After`.
- **ZeroMQ**: the error of `rejected`, or of a result ([protocol](protocol.md#fields-of-a-result)).
- **Python**: the client raises the class, from `cactus_actors.protocol.errors`. All derive from `CactusError`, and an
  indented class from the one under which it is indented.
- **Command line**: `cactus` prints `error: MESSAGE` and ends with the exit code.

[troubleshooting](../guide/troubleshooting.md) has messages and remedies. The list has for each type the HTTP status,
the class and the exit code. Types without a status are errors of commands and of the client itself."""
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
    entries = "\n".join(_entry(depth, error) for depth, error in _tree(CactusError) if depth)
    return page("Errors", INTRODUCTION, "## Types", entries, BATCH_CODES)


def _entry(depth: int, error: type[CactusError]) -> str:
    status = f"{error.status}, " if error.status else ""
    note = f" ({status}`{error.__name__}`, exit {_exit_code(error)})"
    return item(f"`{error.type}`", first_sentence(error.__doc__), note=note, depth=depth - 1)


def _tree(error: type[CactusError], depth: int = 0) -> Iterator[tuple[int, type[CactusError]]]:
    """The classes and how deep they derive; of one class by status, those without one last."""
    yield depth, error
    children = [child for child in error.__subclasses__() if child.__module__ in MODULES]
    for child in sorted(children, key=lambda child: child.status or 1000):
        yield from _tree(child, depth + 1)


def _exit_code(error: type[CactusError]) -> int:
    return exit_code(error(""))

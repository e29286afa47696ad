"""docs/reference/python-client.md: the names that `import cactus_actors` gives."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import msgspec

import cactus_actors
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.results import (
    Alternative,
    Handoff,
    HandoffTier,
    IncompleteCall,
    Measures,
    Source,
    Timings,
    TokenLogprob,
    ToolCall,
    Usage,
)
from docs.generate.layout import WIDTH, item, page, paragraphs

INTRODUCTION = """\
`cactus_actors` as a client needs neither Ray nor numba.

```python
import secrets

from cactus_actors import Client
from cactus_actors.protocol.messages import Submit

with Client("tcp://127.0.0.1:5555") as client:
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    result = client.complete(messages=messages, temperature=0)
    print(result.text, result.confidence, result.usage.completion_tokens)

    with client.stream(messages=messages, seed=7) as stream:
        for delta in stream:
            print(delta.text, end="", flush=True)

    embedding = client.run(Submit(job_id=secrets.token_hex(16), prompt="a cat", task="embed")).embedding
```

- In the `images` of a message, a path object names a file that the client reads, and bytes are the content of a
  picture; both are sent with the request as frames. A string is a data URL, or a path or URL that the service reads
  ([pictures](../guide/pictures.md)).
- `Prompt` is a text, or a list of token ids and texts. `Messages` is a list of messages as dicts
  (`{"role": ..., "content": ...}`), or such a list as JSON text. `Tools` is a list of tools as dicts
  ([tools.md](tools.md)).
- `**options` are the fields of a request, such as `temperature=0` ([options.md](options.md)).
- `Submit` is the message of that name in the [protocol](protocol.md#requests); `EncodedSubmit` is one that is encoded
  already.
- `Timeouts`, of `cactus_actors.client.job_follower`, has the seconds `first_reply_s` (`timeout` of a client),
  `reconnect_s` (`reconnect_timeout`), `result_silence_s` until a job without a stream is requested again, and `close_s`
  for the result of a cancelled job.
- Errors are raised as the classes of [errors.md](errors.md).
- [protocol](protocol.md#fields-of-a-result) describes the fields of results and of a status."""
RESULT_TYPES = (
    Usage,
    Timings,
    Measures,
    Handoff,
    HandoffTier,
    ToolCall,
    IncompleteCall,
    TokenLogprob,
    Alternative,
    Source,
    ErrorInfo,
)
TWINS = {"AsyncClient": "Client", "AsyncTokenStream": "TokenStream"}
"""Asynchronous classes and the blocking ones, whose methods are described once."""
NAMES = ["Client", "TokenStream", "AsyncClient", "AsyncTokenStream", "Delta", "Result", "Status"]
MADE_BY_CALLERS = ("Client", "AsyncClient")


def python_client_page() -> str:
    """The text of the page."""
    errors = [f"`{name}`" for name in cactus_actors.__all__ if _is_error(getattr(cactus_actors, name))]
    parts = [part for name in NAMES for part in _sections(name, getattr(cactus_actors, name))]
    listed = paragraphs("Also exported: `Options`, the fields of a request, and the errors " + ", ".join(errors) + ".")
    types = "\n".join(item(f"`{one.__name__}`", _fields(one)) for one in RESULT_TYPES)
    return page("Python client", INTRODUCTION, listed, *parts, "## Types in a result", types)


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, CactusError)


def _sections(name: str, kind: type) -> Iterator[str]:
    yield f"## {name}"
    yield paragraphs(kind.__doc__)
    if issubclass(kind, msgspec.Struct):
        hints = inspect.get_annotations(kind)
        yield _code([f"{field.name}: {hints[field.name]}" for field in msgspec.structs.fields(kind)])
        return
    twin: object = getattr(cactus_actors, TWINS[name]) if name in TWINS else None
    if twin is not None:
        link = f"[{TWINS[name]}](#{TWINS[name].lower()})"
        yield f"It has the members of {link}, with coroutines for all methods that return no stream, and these:"
    elif name in MADE_BY_CALLERS:
        yield _code([_signature(name, kind.__init__, is_constructor=True)])
    for method, function in vars(kind).items():
        if method.startswith("_") or method == "aclose" or hasattr(twin, method):
            continue
        if not (inspect.isfunction(function) or isinstance(function, property)):
            continue
        yield f"### {name}.{method}"
        if isinstance(function, property):
            yield _code([f"{method}: {inspect.signature(function.fget).return_annotation}"])  # type: ignore[arg-type]
        else:
            yield _code([_signature(method, function)])
        yield paragraphs(function.__doc__)


def _fields(kind: type[msgspec.Struct]) -> str:
    hints = inspect.get_annotations(kind)
    return ", ".join(f"`{field.name}: {hints[field.name]}`" for field in msgspec.structs.fields(kind))


def _signature(name: str, function: Any, *, is_constructor: bool = False) -> str:
    signature = inspect.signature(function)
    given: list[str] = []
    for one in list(signature.parameters.values())[1:]:
        if one.kind is one.KEYWORD_ONLY and "*" not in given:
            given.append("*")
        stars = "**" if one.kind is one.VAR_KEYWORD else ""
        default = "" if one.default is one.empty else f" = {one.default!r}"
        given.append(f"{stars}{one.name}: {one.annotation}{default}")
    start = "async def " if inspect.iscoroutinefunction(function) else "" if is_constructor else "def "
    end = ")" if is_constructor else f") -> {signature.return_annotation}"
    line = f"{start}{name}({', '.join(given)}{end}"
    return line if len(line) <= WIDTH else "\n".join([f"{start}{name}(", *(f"    {one}," for one in given), end])


def _code(lines: list[str]) -> str:
    return "\n".join(["```python", *lines, "```"])

"""Labelled questions: read from a file, run on a service, and their answers judged."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.api.strict_json import decode_strictly
from cactus_actors.batch.batch_errors import InputInvalid, naming_file
from cactus_actors.batch.prompt_file import UTF8_BOM
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError, InvalidJSON, InvalidRequest, Unavailable
from cactus_actors.protocol.messages import ChatMessage
from cactus_actors.protocol.results import Result, ToolCall
from cactus_actors.protocol.type_mismatch import mismatch_of


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question in one form, judged by all given criteria.

    Form: `question`, one user message; `messages`; or `prompt`, text to continue; with optional `tools`. Criteria:
    `answer`, equal except for case, white space and a final full stop; `contains`, one or more texts in any case;
    `regex`, found anywhere in the answer; `calls`, exactly these tool calls. A truncated answer is wrong. `group`
    names the kind of question, or the tenant, for a bound of its own.
    """

    question: str | None = None
    messages: list[ChatMessage] | None = None
    prompt: str | None = None
    tools: list[dict[str, Any]] | None = None
    answer: str | None = None
    contains: str | list[str] | None = None
    regex: str | None = None
    calls: list[ToolCall] | None = None
    group: str | None = None

    def is_right(self, result: Result) -> bool:
        if not result.success or result.finish_reason not in ("stop", "tool_calls"):
            return False
        text = result.text
        wanted = [self.contains] if isinstance(self.contains, str) else self.contains or []
        return (
            (self.answer is None or _plain(text) == _plain(self.answer))
            and all(part.casefold() in text.casefold() for part in wanted)
            and (self.regex is None or re.search(self.regex, text) is not None)
            and (self.calls is None or _called(result.tool_calls) == _called(self.calls))
        )


@dataclass(frozen=True, slots=True)
class ExampleOutcome:
    """An answer and its judgement; `result` is None for a failed example."""

    example: Example
    result: Result | None
    is_right: bool


def read_examples(path: Path) -> list[Example]:
    """Read the examples of a JSONL file; raises InputInvalid, naming the line."""
    with naming_file(path, InputInvalid):
        lines = path.read_bytes().removeprefix(UTF8_BOM).splitlines()
    examples = [_decode(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not examples:
        raise InputInvalid(f"{path}: there is no example in it")
    return examples


async def run_examples(
    client: AsyncClient,
    examples: Sequence[Example],
    options: dict[str, Any],
    *,
    max_in_flight: int,
    observe: Callable[[], None] = lambda: None,
) -> list[ExampleOutcome]:
    """Run all examples, `max_in_flight` at once, and call `observe` after each; nothing is handed off.

    The results have the `gate_inputs` of their answers. A failed job is an outcome. InvalidRequest is raised and names
    the example; so is Unavailable, which would affect all of them.
    """
    slots = asyncio.Semaphore(max_in_flight)

    async def ask(number: int, example: Example) -> ExampleOutcome:
        messages = example.messages
        if example.question is not None:
            messages = [ChatMessage(role="user", content=example.question)]
        async with slots:
            try:
                result = await client.complete(
                    example.prompt,
                    messages=messages,
                    tools=example.tools,
                    allow_cloud=False,
                    gate_inputs=True,
                    **options,
                )
            except InvalidRequest as error:
                raise type(error)(f"example {number}: {error.message}", param=error.param) from None
            except Unavailable:
                raise
            except CactusError:
                return ExampleOutcome(example, None, False)
            finally:
                observe()
        return ExampleOutcome(example, result, example.is_right(result))

    tasks = [asyncio.create_task(ask(number, example)) for number, example in enumerate(examples, 1)]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _decode(line: bytes, where: str) -> Example:
    try:
        example = msgspec.json.decode(line, type=Example)
        decode_strictly(line, "the line")
        if example.regex is not None:
            re.compile(example.regex)
    except msgspec.ValidationError as error:
        raise InputInvalid(f"{where}: {mismatch_of(error, Example).message}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, InvalidJSON, re.error, OverflowError) as error:
        raise InputInvalid(f"{where}: {error}") from None
    except RecursionError:
        raise InputInvalid(f"{where}: is nested too deeply") from None
    asked = (example.question, example.messages, example.prompt)
    if sum(form is not None for form in asked) != 1:
        raise InputInvalid(f"{where}: give one of question, messages and prompt")
    if example.messages == [] or (example.question is not None and not example.question.strip()):
        raise InputInvalid(f"{where}: {'question' if example.messages is None else 'messages'} must not be empty")
    if isinstance(example.contains, list) and "" in example.contains:
        raise InputInvalid(f"{where}: contains has an empty text, which is in every answer")
    if not (example.answer or example.contains or example.regex or example.calls is not None):
        raise InputInvalid(f"{where}: give the criterion: answer, contains, regex or calls")
    return example


def _called(calls: list[ToolCall]) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.arguments) for call in calls]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().removesuffix(".")

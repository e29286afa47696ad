"""Labelled questions, and whether an answer is correct."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.batch.batch_errors import InputInvalid, naming_file
from cactus_actors.protocol.messages import ChatMessage
from cactus_actors.protocol.results import Result, ToolCall
from cactus_actors.protocol.type_mismatch import mismatch_of


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question in one form, judged by all given criteria.

    Form: `question`, one user message; `messages`; or `prompt`, text to continue; with optional `tools`. Criteria:
    `answer`, equal except for case, white space and a final full stop; `contains`, one or more texts in any case;
    `regex`, found anywhere in the answer; `calls`, exactly these tool calls. A truncated answer is wrong.
    """

    question: str | None = None
    messages: list[ChatMessage] | None = None
    prompt: str | None = None
    tools: list[dict[str, Any]] | None = None
    answer: str | None = None
    contains: str | list[str] | None = None
    regex: str | None = None
    calls: list[ToolCall] | None = None

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


def read_examples(path: Path) -> list[Example]:
    """Read the examples of a JSONL file; raises InputInvalid, naming the line."""
    with naming_file(path, InputInvalid):
        lines = path.read_bytes().splitlines()
    examples = [_decode(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not examples:
        raise InputInvalid(f"{path}: there is no example in it")
    return examples


def _decode(line: bytes, where: str) -> Example:
    try:
        example = msgspec.json.decode(line, type=Example)
        if example.regex is not None:
            re.compile(example.regex)
    except msgspec.ValidationError as error:
        raise InputInvalid(f"{where}: {mismatch_of(error).message}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, re.error) as error:
        raise InputInvalid(f"{where}: {error}") from None
    asked = (example.question, example.messages, example.prompt)
    if sum(form is not None for form in asked) != 1:
        raise InputInvalid(f"{where}: give one of question, messages and prompt")
    if not (example.answer or example.contains or example.regex or example.calls is not None):
        raise InputInvalid(f"{where}: give what is right: answer, contains, regex or calls")
    return example


def _called(calls: list[ToolCall]) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.arguments) for call in calls]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().removesuffix(".")

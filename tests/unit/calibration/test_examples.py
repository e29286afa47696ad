"""The labelled questions of a file: how they are read, and how they are asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.calibration import Example, read_examples, run_examples
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import ContextExceeded
from cactus_actors.protocol.results import Result


def test_examples_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    lines = [
        {"question": "2+2?", "answer": "4"},
        {"messages": [{"role": "user", "content": "x"}], "contains": ["y"]},
        {"prompt": "One, two,", "regex": "three", "tools": [{"name": "f"}]},
        {"question": "x", "calls": [{"name": "f", "arguments": {}}]},
    ]
    path.write_text("\ufeff" + "\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    assert [example.question for example in read_examples(path)] == ["2+2?", None, None, "x"]


@pytest.mark.parametrize(
    "line",
    [
        "no JSON",
        '{"question": "x"}',
        '{"answer": "x"}',
        '{"question": "x", "prompt": "y", "answer": "z"}',
        '{"question": "x", "regex": "("}',
        '{"question": "x", "answer": "y", "anwser": "z"}',
        '{"question": 1, "answer": "y"}',
        '{"question": " ", "answer": "y"}',
        '{"messages": [], "answer": "y"}',
        '{"question": "x", "contains": ["y", ""]}',
        '{"question": "x", "regex": "y{99999999999999999999}"}',
        '{"question": "x", "regex": "' + "(" * 5000 + ")" * 5000 + '"}',
        '{"question": "x", "answer": "y", "tools": [{"a": ' + "[" * 100_000 + "]" * 100_000 + "}]}",
        '{"question": "x", "answer": "y", "answer": "z"}',
    ],
)
def test_an_invalid_example_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"question": "x", "answer": "y"}\n' + line)
    with pytest.raises(InputInvalid, match=r"data\.jsonl:2: "):
        read_examples(path)


def test_a_file_without_examples_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    for name in ("empty.jsonl", "missing.jsonl"):
        with pytest.raises(InputInvalid, match=name):
            read_examples(tmp_path / name)


class _Service:
    """Answers short prompts."""

    async def complete(self, prompt: str, **options: object) -> Result:
        if len(prompt) > 1:
            raise ContextExceeded("the prompt has 9 tokens and the context 8", param="prompt")
        return Result(text=prompt, finish_reason="stop")


async def test_an_example_that_cannot_be_asked_is_named() -> None:
    short, long = Example(prompt="y", answer="y"), Example(prompt="yes", answer="y")
    service = cast(AsyncClient, _Service())
    assert [one.is_right for one in await run_examples(service, [short, short], {}, max_in_flight=1)] == [True, True]
    with pytest.raises(ContextExceeded, match=r"^example 2: the prompt has 9 tokens") as failed:
        await run_examples(service, [short, long], {}, max_in_flight=2)
    assert failed.value.param == "prompt"

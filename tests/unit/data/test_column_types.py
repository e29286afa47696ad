"""Answers that obey a JSON Schema become typed columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.data.answer_columns import AnswerColumns
from cactus_actors.data.column_types import column_type
from cactus_actors.data.line_results import LineAnswer
from tests.support.router.scripted_router import ScriptedRouter

REVIEW = {
    "type": "object",
    "properties": {
        "topic": {"enum": ["soup", "room"]},
        "stars": {"type": "integer"},
        "rate": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "dishes": {"type": "array", "items": {"$ref": "#/$defs/dish"}},
        "other": {},
    },
    "required": ["topic", "stars"],
    "$defs": {
        "dish": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "is_hot": {"type": ["boolean", "null"]}},
            "additionalProperties": False,
        }
    },
}


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, pa.string()),
        ({"const": 5}, pa.int64()),
        ({"enum": ["a", None]}, pa.string()),
        ({"enum": ["a", 1]}, None),
        ({"type": ["number", "null"]}, pa.float64()),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, pa.list_(pa.list_(pa.int64()))),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, None),
        ({"$ref": "#"}, None),
        (True, None),
        ({"type": {"no": "type"}}, None),
        ({"type": ["string", "string"]}, pa.string()),
    ],
)
def test_the_type_of_a_column_is_that_of_its_schema(schema: Any, kind: pa.DataType | None) -> None:
    assert column_type(schema, schema).arrow == kind


def test_answers_become_columns_of_these_types() -> None:
    columns = AnswerColumns(REVIEW)
    text = '{"topic": "soup", "stars": 5, "rate": 1, "dishes": [{"name": "x", "is_hot": null}], "other": [1, "a"]}'
    misfits = [
        '{"topic": "so',
        '{"topic": "soup", "stars": 5.5}',
        '{"topic": "soup", "stars": 9223372036854775808}',
        "[]",
    ]
    answers = [LineAnswer(text=text, finish_reason="stop"), LineAnswer(error="server_error: lost")]
    answers += [LineAnswer(text=misfit, finish_reason="length") for misfit in misfits[:1]]
    answers += [LineAnswer(text=misfit, finish_reason="stop") for misfit in misfits[1:]]
    rows = columns.batch(answers).to_pylist()
    assert {name: rows[0][name] for name in REVIEW["properties"]} == {
        "topic": "soup",
        "stars": 5,
        "rate": 1.0,
        "dishes": [{"name": "x", "is_hot": None}],
        "other": '[1, "a"]',
    }
    reasons = [
        "it ended early",
        "5.5 is no integer",
        "9223372036854775808 does not fit an integer of 64 bits",
        "it is no object",
    ]
    assert [row["error"] for row in rows] == [
        None,
        "server_error: lost",
        *(
            f"answer_misfit: the answer does not obey the schema: {reason}; the model said: {misfit}"
            for reason, misfit in zip(reasons, misfits, strict=True)
        ),
    ]
    for answer, row in zip(answers[2:], rows[2:], strict=True):
        assert row["error"].startswith(f"answer_misfit: {columns.misfit(answer.text, answer.finish_reason)};")
    assert columns.misfit(text, "stop") is None
    assert {row["stars"] for row in rows[1:]} == {None}
    assert columns.num_misfits == 4


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"topic": "\\ud83d"}', "'\\ud83d' has half of a surrogate pair"),
        ('{"other": ["\\ud83d"]}', "half of a surrogate pair"),
        ('{"rate": 1' + "0" * 400 + "}", "does not fit a number of 64 bits"),
        ('{"other": ' + "[" * 100_000, "it is nested too deeply"),
    ],
)
def test_values_that_no_column_holds_cost_one_row(text: str, reason: str) -> None:
    answers = [LineAnswer(text=one, finish_reason="stop") for one in (text, '{"topic": "soup"}')]
    misfit, fit = AnswerColumns(REVIEW).batch(answers).to_pylist()
    assert reason in misfit["error"]
    assert (fit["topic"], fit["error"]) == ("soup", None)


def test_whole_objects_are_one_column_of_json() -> None:
    columns = AnswerColumns(REVIEW, are_whole=True)
    text = '{"topic": "soup",\n "stars": 5, "more": [1, "\u00e4"]}'
    answers = [LineAnswer(text=one, finish_reason="stop") for one in (text, '{"topic": 5}')]
    fit, misfit = columns.batch(answers).to_pylist()
    assert fit["answer"] == '{"topic": "soup", "stars": 5, "more": [1, "\u00e4"]}'
    assert (misfit["answer"], "5 is no text" in misfit["error"]) == (None, True)


@pytest.mark.parametrize("out", ["out.txt", "out/"])
def test_text_has_whole_objects(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter, reviews: Path, tmp_path: Path, out: str
) -> None:
    router.num_tokens = 1
    schema = '{"type": "object", "properties": {"id": {"type": "integer"}, "text": {}}}'
    template = '{% if text %}{"id": {{ id }}, "text": "{{ text }}", "more": [{{ stars }}]}{% else %}nothing{% endif %}'
    arguments = ("--schema", schema, "--prompt-template", template, "--output-format", "text")
    result = cactus("batch", str(reviews), "-o", out, *arguments)
    assert result.exit_code == 1
    path = tmp_path / ("out.txt" if out == "out.txt" else "out/part-00000-00000.txt")
    assert path.read_text().splitlines() == [
        '{"id": 3, "text": "good soup", "more": [5.0]}',
        "",
        '{"id": 2, "text": "cold soup", "more": [1.0]}',
    ]


def test_a_property_takes_the_place_of_a_column_of_every_answer() -> None:
    schema = {"type": "object", "properties": {"confidence": {"enum": ["low", "high"]}}}
    columns = AnswerColumns(schema, "a_")
    [row] = columns.batch([LineAnswer(text='{"confidence": "low"}', confidence=0.5)]).to_pylist()
    assert row["a_confidence"] == "low"
    assert columns.schema.names.count("a_confidence") == 1


def test_a_command_with_a_schema_writes_its_columns(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter, reviews: Path, tmp_path: Path
) -> None:
    """The scripted router answers with the prompt and more words, unless an answer has one token."""
    router.num_tokens = 1
    (tmp_path / "answer.json").write_text('{"type": "object", "properties": {"stars": {"type": "integer"}}}')
    template = '{% if text %}{"stars": {{ stars | int }}}{% else %}nothing{% endif %}'
    arguments = ("--schema", "answer.json", "--prompt-template", template, "--columns", "id")
    result = cactus("batch", str(reviews), "-o", "out.parquet", *arguments)
    assert result.exit_code == 1, result.output
    assert "3 rows in out.parquet, 1 without an answer that obeys the schema" in result.output
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.schema.field("stars").type == pa.int64()
    assert table["stars"].to_pylist() == [5, None, 1]
    assert "answer" not in table.schema.names
    assert {submit.options.json_schema["type"] for submit in router.submitted()} == {"object"}

"""A table in, a table out: columns of the input beside those of the answers, in the order of the rows."""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.protocol.messages import Submit
from tests.support.router.scripted_router import ScriptedRouter
from tests.support.text.reviews import ANSWERS, REVIEWS, TEMPLATE

Cactus = Callable[..., typer.testing.Result]
Answered = Callable[..., list[dict[str, Any]]]


def test_the_columns_of_the_input_are_beside_those_of_the_answers(
    answered: Answered, reviews: Path, tmp_path: Path
) -> None:
    rows = answered(str(reviews), *TEMPLATE)
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.select(REVIEWS.schema.names).equals(REVIEWS)
    assert [row["answer"] for row in rows] == ANSWERS
    expected = {
        "confidence": 0.9,
        "provider": None,
        "handoff_status": "none",
        "model": "scripted",
        "finish_reason": "length",
        "prompt_tokens": 3,
        "completion_tokens": 5,
        "error": None,
    }
    assert [{name: row[name] for name in expected} for row in rows] == [expected] * 3
    assert written.schema.names == [*REVIEWS.schema.names, "answer", *expected]


def test_a_row_is_a_question_after_the_system_message(
    answered: Answered, reviews: Path, router: ScriptedRouter
) -> None:
    answered(str(reviews), "--prompt-template", "{{ row['stars'] }} {{ tags | join('/') }}", "--system", "Be brief.")
    asked = [[(message.role, message.content) for message in submit.messages] for submit in router.submitted()]
    system = ("system", "Be brief.")
    assert sorted(asked) == [[system, ("user", text)] for text in ("1.0 ", "3.5 ", "5.0 a/b")]


def test_columns_chooses_those_of_the_input(answered: Answered, reviews: Path) -> None:
    [first, *_] = answered(str(reviews), *TEMPLATE, "--columns", "stars,id", "--prefix", "model_")
    assert [*first][:3] == ["stars", "id", "model_answer"]
    assert "text" not in first
    assert "model_error" in first


@pytest.mark.parametrize("name", ["in.csv", "in.tsv.gz", "in.jsonl", "in.jsonl.zst", "in.arrow", "in.txt"])
def test_every_format_is_read(answered: Answered, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    texts = ['one "quoted", with\ttab', "zwei\u2028ä"]
    match name:
        case "in.csv":
            path.write_text('\ufeffid,text\r\n007,"one ""quoted"", with\ttab"\r\n\r\n8,zwei\u2028ä\r\n')
        case "in.tsv.gz":
            path.write_bytes(gzip.compress('id\ttext\n007\t"one ""quoted"", with\ttab"\n8\tzwei\u2028ä\n'.encode()))
        case "in.jsonl" | "in.jsonl.zst":
            rows = [{"id": "007", "text": texts[0]}, {"text": texts[1], "id": "8"}]
            content = "".join(json.dumps(row, ensure_ascii=False) + "\n\n" for row in rows).encode()
            path.write_bytes(content if name == "in.jsonl" else pa.compress(content, "zstd", asbytes=True))
        case "in.arrow":
            pyarrow.feather.write_feather(pa.table({"id": ["007", "8"], "text": texts}), path)
        case "in.txt":
            path.write_text("\n".join(texts))
    rows = answered(str(path), "--prompt-template", "{{ text }}")
    assert [row["answer"] for row in rows] == [f"{text} w1 w2 w3 w4" for text in texts]
    if name != "in.txt":
        assert [row["id"] for row in rows] == ["007", "8"]


@pytest.mark.parametrize("name", ["out.csv", "out.tsv.gz", "out.jsonl.gz", "out.arrow", "out.feather", "out.txt"])
def test_every_format_is_written(cactus: Cactus, reviews: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    assert cactus("batch", str(reviews), "-o", str(out), *TEMPLATE).exit_code == 0
    match name:
        case "out.csv" | "out.tsv.gz":
            packed = out.read_bytes()
            text = packed if name == "out.csv" else gzip.decompress(packed)
            rows = [*csv.DictReader(text.decode().splitlines(), delimiter="," if name == "out.csv" else "\t")]
            assert [(row["id"], row["tags"], row["answer"]) for row in rows] == [
                ("3", '["a", "b"]', ANSWERS[0]),
                ("1", "[]", ANSWERS[1]),
                ("2", "", ANSWERS[2]),
            ]
        case "out.jsonl.gz":
            rows = [json.loads(line) for line in gzip.decompress(out.read_bytes()).splitlines()]
            assert [{name: row[name] for name in REVIEWS.schema.names} for row in rows] == REVIEWS.to_pylist()
            assert [row["answer"] for row in rows] == ANSWERS
        case "out.arrow" | "out.feather":
            written = pyarrow.feather.read_table(out)
            assert written.select(REVIEWS.schema.names).equals(REVIEWS)
            assert written["answer"].to_pylist() == ANSWERS
        case "out.txt":
            assert out.read_text().splitlines() == ANSWERS


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_text_formats_write_bytes_as_base64_and_what_is_no_number_by_rule(
    cactus: Cactus, tmp_path: Path, suffix: str
) -> None:
    table = pa.table({"text": ["a", "b"], "raw": [b"\xff\x00", b""], "number": [math.nan, -math.inf]})
    pq.write_table(table, tmp_path / "in.parquet")
    out = tmp_path / f"out.{suffix}"
    assert cactus("batch", str(tmp_path / "in.parquet"), "-o", str(out), *TEMPLATE).exit_code == 0
    lines = out.read_text().splitlines()
    rows = [*csv.DictReader(lines)] if suffix == "csv" else [json.loads(line) for line in lines]
    assert [row["raw"] for row in rows] == ["/wA=", ""]
    assert [row["number"] for row in rows] == (["nan", "-inf"] if suffix == "csv" else [None, None])


def test_several_files_are_one_table(answered: Answered, tmp_path: Path) -> None:
    for number, columns in enumerate([{"text": ["a", "b"]}, {"text": ["c"], "more": [1]}, {"text": ["d"]}]):
        pq.write_table(pa.table(columns), tmp_path / f"part-{number}.parquet")
    rows = answered(str(tmp_path / "part-2.parquet"), str(tmp_path / "part-[01].parquet"), *TEMPLATE)
    assert [(row["text"], row["more"]) for row in rows] == [("d", None), ("a", None), ("b", None), ("c", 1)]
    assert [row["answer"] for row in rows] == [f"Say: {text} w1 w2 w3 w4" for text in "dabc"]


def test_a_column_of_messages_is_a_chat(answered: Answered, router: ScriptedRouter, tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "hi"}]
    pq.write_table(pa.table({"messages": [chat, None]}), tmp_path / "in.parquet")
    rows = answered(str(tmp_path / "in.parquet"), exit_code=1)
    assert [(row["answer"], row["error"]) for row in rows] == [
        ("hi w1 w2 w3 w4", None),
        (None, "invalid_request_error: the column 'messages' has no value"),
    ]
    (tmp_path / "in.csv").write_text('messages\n"[{""role"": ""user"", ""content"": ""hi""}]"\n')
    assert [row["answer"] for row in answered(str(tmp_path / "in.csv"), "--overwrite")] == ["hi w1 w2 w3 w4"]


def test_values_of_json_lines_come_out_as_they_went_in(cactus: Cactus, tmp_path: Path) -> None:
    rows = [
        {"id": 1, "any": {"deep": [1, 2.5, None]}, "big": 123456789012345678901, "rate": 1},
        {"id": 2, "any": "text", "rate": 2.5, "flag": True},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = cactus("batch", "in.jsonl", "-o", "out.jsonl", "--prompt-template", "{{ id }} {{ any }}")
    assert result.exit_code == 0, result.output
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    names = ["id", "any", "big", "rate", "flag"]
    assert [{name: row[name] for name in names} for row in written] == [
        {"big": None, "flag": None} | row for row in rows
    ]
    assert [row["answer"] for row in written] == ["1 {'deep': [1, 2.5, None]} w1 w2 w3 w4", "2 text w1 w2 w3 w4"]


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet", "out.arrow", "out/"])
def test_integers_beside_floats_stay_integers_where_a_column_may_have_both(
    cactus: Cactus, tmp_path: Path, name: str
) -> None:
    rates = [1, None, 2.5, -(1 << 53), 1e300]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"rate": rate}) + "\n" for rate in rates))
    assert cactus("batch", "in.jsonl", "-o", name, "--prompt-template", "rate {{ rate }}").exit_code == 0
    out = tmp_path / name
    match name:
        case "out.jsonl":
            rows = [json.loads(line) for line in out.read_text().splitlines()]
            assert [repr(row["rate"]) for row in rows] == [repr(rate) for rate in rates]
        case "out.csv":
            rows = [*csv.DictReader(out.read_text().splitlines())]
            assert [row["rate"] for row in rows] == ["" if rate is None else repr(rate) for rate in rates]
        case _:
            form = "arrow" if name == "out.arrow" else "parquet"
            table = pyarrow.dataset.dataset(out, format=form).to_table()
            assert table.schema.field("rate").type == pa.float64()
            rows = table.to_pylist()
            assert [row["rate"] for row in rows] == rates
    answers = ["rate " + ("" if rate is None else repr(rate)) + " w1 w2 w3 w4" for rate in rates]
    assert [row["answer"] for row in rows] == answers


def test_rows_with_equal_prompts_are_asked_once_at_temperature_0(
    answered: Answered, router: ScriptedRouter, tmp_path: Path
) -> None:
    texts = ["b", "a", "b", "c", "a", "b"]
    pq.write_table(pa.table({"text": texts, "id": range(6)}), tmp_path / "in.parquet")
    with_seeds = answered(str(tmp_path / "in.parquet"), *TEMPLATE)
    assert len(router.submitted()) == 6
    router.received.clear()
    rows = answered(str(tmp_path / "in.parquet"), *TEMPLATE, "--temperature", "0", "--overwrite")
    assert sorted(str(submit.messages[0].content) for submit in router.submitted()) == ["Say: a", "Say: b", "Say: c"]
    assert rows == with_seeds
    router.received.clear()
    assert answered(str(tmp_path / "in.parquet"), *TEMPLATE, "--seed", "7", "--overwrite") == rows
    assert len(router.submitted()) == 3


def test_rows_are_asked_in_an_order_in_which_their_beginnings_meet(
    answered: Answered, router: ScriptedRouter, tmp_path: Path
) -> None:
    questions = [f"{document} {number}" for number in range(4) for document in ("first", "second", "third")]
    pq.write_table(pa.table({"text": questions}), tmp_path / "in.parquet")
    rows = answered(str(tmp_path / "in.parquet"), *TEMPLATE, "--max-in-flight", "1")
    asked = [submit.messages[0].content for submit in router.received_of(Submit)]
    assert asked == [f"Say: {question}" for question in sorted(questions)]
    assert [row["answer"] for row in rows] == [f"Say: {question} w1 w2 w3 w4" for question in questions]

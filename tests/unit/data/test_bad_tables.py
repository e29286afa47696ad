"""Rows that cannot be asked are reported one by one; what concerns all rows is refused before anything runs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.batch.batch_errors import InputInvalid, OutputRefused
from cactus_actors.batch.prompt_file import MAX_LINE_BYTES
from cactus_actors.protocol.errors import CactusError, ConfigurationInvalid, InvalidRequest, TemplateInvalid
from cactus_actors.protocol.messages import Rejected
from tests.support.router.scripted_router import ScriptedRouter
from tests.support.text.reviews import TEMPLATE

Cactus = Callable[..., typer.testing.Result]
Answered = Callable[..., list[dict[str, Any]]]
GOOD = "Say: fine w1 w2 w3 w4"


def test_a_bad_row_has_its_error_and_costs_no_other_row(answered: Answered, tmp_path: Path) -> None:
    lines = [b'{"text": "fine"}', b'{"text": "tw', b"[1]", b'{"text": "\xff"}', b'{"text": "x", "text": "y"}']
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(lines) + b"\n" + b'{"text": "fine"}\n')
    rows = answered(str(tmp_path / "in.jsonl"), *TEMPLATE, exit_code=1)
    assert [row["answer"] for row in rows] == [GOOD, None, None, None, None, GOOD]
    errors = [row["error"] for row in rows]
    assert errors[0] is errors[5] is None
    name = tmp_path / "in.jsonl"
    assert errors[1].startswith(f"invalid_request_error: line 2 of {name}: it is not JSON")
    assert errors[2] == f"invalid_request_error: line 3 of {name}: a row is a JSON object"
    assert "line 4" in errors[3]
    assert "not UTF-8" in errors[3]
    assert "'text' is given twice" in errors[4]


def test_a_bad_line_of_csv_is_a_bad_row(answered: Answered, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b"text,id\nfine,1\nshort\nfine,2,3\n\xff,4\nfine,5\n")
    rows = answered(str(tmp_path / "in.csv"), *TEMPLATE, exit_code=1)
    assert [row["answer"] for row in rows] == [GOOD, None, None, None, GOOD]
    assert [row["id"] for row in rows] == ["1", None, "2", "4", "5"]
    assert "line 3" in rows[1]["error"]
    assert "has 1 field, the header 2" in rows[1]["error"]
    assert "has 3 fields" in rows[2]["error"]
    assert "is not UTF-8" in rows[3]["error"]


def test_a_field_of_csv_that_is_too_long_fails_its_row(answered: Answered, tmp_path: Path) -> None:
    big, huge = "x" * (MAX_LINE_BYTES + 1), '""y"",\n' + "z" * (17 * MAX_LINE_BYTES) + '\n"",""'
    lines = ["text,id", "fine,1", f"{big},2", f'fine,"{big}"', f'"{huge}",4"4', '"fine"x,"5"']
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    rows = answered(str(tmp_path / "in.csv"), *TEMPLATE, exit_code=1)
    assert [row["answer"] for row in rows] == [GOOD, None, None, None, "Say: finex w1 w2 w3 w4"]
    assert [row["id"] for row in rows] == ["1", "2", None, None, "5"]
    assert "line 3" in rows[1]["error"]
    assert "has a field of more than 4194304 characters" in rows[1]["error"]


def test_values_that_json_lines_alone_have_are_no_obstacle(answered: Answered, tmp_path: Path) -> None:
    """Integers beyond 64 bits, in a prompt and in a row that fails."""
    rows = [{"text": 1 << 70, "ok": 1}, {"text": {"deep": 1 << 70}, "ok": 0}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    template = "{{ text }}{{ 1 // ok }}"
    first, last = answered(str(tmp_path / "in.jsonl"), "--prompt-template", template, exit_code=1)
    assert first["answer"].startswith(f"{1 << 70}1")
    assert "ZeroDivisionError" in last["error"]


@pytest.mark.parametrize("ids", [[1, (1 << 53) + 1, 0.5], [0.5, (1 << 53) + 1, 1]])
def test_integers_beside_floats_keep_their_digits(cactus: Cactus, tmp_path: Path, ids: list[float]) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": value}) + "\n" for value in ids))
    assert cactus("batch", "in.jsonl", "-o", "out.jsonl", "--prompt-template", "{{ id }}").exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ids
    assert [row["answer"].split()[0] for row in rows] == [str(value) for value in ids]


@pytest.mark.parametrize("kind", [pa.binary(), pa.binary(4), pa.binary_view(), pa.dictionary(pa.int8(), pa.binary())])
def test_a_column_of_bytes_is_no_prompt(cactus: Cactus, tmp_path: Path, kind: pa.DataType) -> None:
    feather.write_feather(pa.table({"text": pa.array([b"fine"], pa.binary()).cast(kind)}), tmp_path / "in.arrow")
    with pytest.raises(InputInvalid, match="the column 'text' has bytes, which cannot be in a prompt"):
        cactus("batch", "in.arrow", "-o", "out.csv", *TEMPLATE)


@pytest.mark.parametrize("template", ["{{ row['a b'] }}", "{{ row.text }}"])
def test_bytes_of_a_column_that_no_prompt_has_are_no_obstacle(
    answered: Answered, tmp_path: Path, template: str
) -> None:
    pq.write_table(pa.table({"a b": ["fine"], "text": ["fine"], "picture": [b"\xff"]}), tmp_path / "in.parquet")
    (row,) = answered(str(tmp_path / "in.parquet"), "--prompt-template", f"Say: {template}")
    assert (row["answer"], row["picture"]) == (GOOD, b"\xff")


def test_messages_that_are_no_json_fail_their_row(answered: Answered, tmp_path: Path) -> None:
    deep, torn = "[" * 100_000, '[{"role": "user", "content": "\\ud800"}]'
    pq.write_table(pa.table({"messages": ["fine", deep, torn]}), tmp_path / "in.parquet")
    rows = answered(str(tmp_path / "in.parquet"), exit_code=1)
    assert all(row["error"].startswith("invalid_request_error: the column 'messages' is") for row in rows)


def test_values_that_python_has_no_type_for_are_text(answered: Answered, tmp_path: Path) -> None:
    """Points in time beyond the year 9999 or of a nanosecond, also within lists and objects."""
    late, fine = 253402300800, 1700000000123456789
    columns = {
        "text": pa.array(["fine"]),
        "years": pa.array([[late]], pa.list_(pa.timestamp("s"))),
        "at": pa.array([{"t": fine}], pa.struct([("t", pa.timestamp("ns"))])),
    }
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    (row,) = answered(
        str(tmp_path / "in.parquet"), "--prompt-template", "{{ years[0] }} {{ at.t }}", "--columns", "text"
    )
    assert row["answer"].startswith("10000-01-01 00:00:00.000 2023-11-14 22:13:20.123456789")


def test_damaged_values_of_a_column_are_refused(cactus: Cactus, router: ScriptedRouter, tmp_path: Path) -> None:
    offsets, content = pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")
    damaged = pa.Array.from_buffers(pa.string(), 1, [None, offsets, content])
    feather.write_feather(pa.table({"text": damaged}), tmp_path / "in.arrow")
    with pytest.raises(InputInvalid, match=r"in\.arrow: .*UTF8"):
        cactus("batch", "in.arrow", "-o", "out.csv", *TEMPLATE)
    assert not router.submitted()


def test_columns_that_no_parquet_file_holds_are_refused_before_anything_runs(
    cactus: Cactus, router: ScriptedRouter, tmp_path: Path
) -> None:
    spans = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    feather.write_feather(pa.table({"text": ["fine"], "span": spans}), tmp_path / "in.arrow")
    with pytest.raises(OutputRefused, match=r"out\.parquet: .*interval; leave the column out with --columns"):
        cactus("batch", "in.arrow", "-o", "out.parquet", *TEMPLATE)
    assert not router.submitted()
    assert cactus("batch", "in.arrow", "-o", "out.csv", *TEMPLATE).exit_code == 0


def test_a_template_that_fails_for_a_row_fails_this_row(answered: Answered, tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["fine", " ", "fine"], "parts": [2, 1, 0]}), tmp_path / "in.parquet")
    rows = answered(str(tmp_path / "in.parquet"), "--prompt-template", "{% if parts %}{{ text * 1 }}{% endif %}"
                    "{{ 'Say: fine' if 4 // parts == 2 }}", exit_code=1)  # fmt: skip
    assert rows[0]["error"] is None
    assert rows[1]["error"] == "invalid_request_error: the prompt of this row is empty"
    assert rows[2]["error"].startswith("template_error: line 1 of the prompt template: ZeroDivisionError")


def test_failed_rows_are_run_again_alone(
    answered: Answered, cactus: Cactus, router: ScriptedRouter, reviews: Path, tmp_path: Path
) -> None:
    def refuse(identity: bytes, submit: Any) -> None:
        if "cold" in submit.messages[-1].content:
            router.reply(identity, Rejected(error=InvalidRequest("no cold soup").info(), job_id=submit.job_id))
        else:
            on_submit(identity, submit)

    on_submit, router.on_submit = router.on_submit, refuse  # type: ignore[method-assign]
    rows = answered(str(reviews), *TEMPLATE, exit_code=1)
    assert [row["error"] for row in rows] == [None, None, "invalid_request_error: no cold soup"]
    router.on_submit = on_submit  # type: ignore[method-assign]
    router.received.clear()
    rows = answered(str(reviews), *TEMPLATE, "--only-failed")
    assert [row["error"] for row in rows] == [None, None, None]
    assert [submit.messages[0].content for submit in router.submitted()] == ["Say: cold soup"]
    assert cactus("batch", str(reviews), "-o", "out.parquet", *TEMPLATE, "--resume").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((), InputInvalid, r"which column is the prompt\? .* the columns are id, text, stars, tags"),
        (("--prompt-template", "{{ txt }}"), InputInvalid, "no column 'txt'; did you mean 'text'.* id, text, stars"),
        (("--prompt-template", "{{ row['txt'] }}"), InputInvalid, "no column 'txt'; did you mean 'text'"),
        (("--prompt-template", "{{ text }}{{ row.txt }}"), InputInvalid, "no column 'txt'; did you mean 'text'"),
        (("--prompt-template", "{{ text"), TemplateInvalid, "line 1 of the prompt template"),
        ((*TEMPLATE, "--columns", "id,starz"), InputInvalid, "no column 'starz'; did you mean 'stars'"),
        ((*TEMPLATE, "--prefix", "i", "--schema", '{"type": "object", "properties": {"d": {}}}'), InputInvalid,
         "'id' of the input has the name of one of the answers: id, iconfidence"),
    ],
)  # fmt: skip
def test_wrong_columns_are_refused_before_anything_runs(
    cactus: Cactus,
    router: ScriptedRouter,
    reviews: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
    kind: type[CactusError],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        cactus("batch", str(reviews), "-o", "out.parquet", *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["reviews.parquet"]
    assert not router.received


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.parquet", b"PAR1 damaged", "in.parquet: "),
        ("in.arrow", b"ARROW1 damaged", "in.arrow: "),
        ("in.csv", b"a,a\n1,2\n", "two columns 'a'"),
        ("in.csv", "text,größe\n".encode("latin-1"), "the names of its columns are not UTF-8"),
        ("in.csv", b'text\nfine\n"never closed\n' + b"x" * 5_000_000, "a quote that opens in line 3 is not closed"),
        ("in.csv", b'text\n"two\nlines","\nnever closed\n"" x', "a quote that opens in line 3 is not closed"),
        ("in.jsonl.gz", gzip.compress(b'{"text": "fine"}\n' * 1000, mtime=0)[:-20], "cut short"),
        ("in.jsonl.zst", b"\x28\xb5\x2f\xfd damaged", "in.jsonl.zst: "),
        ("in.jsonl", b'{"text": "\0"}', "zero byte in line 1"),
        ("in.jsonl", b"[]\n", "no line is a JSON object"),
        ("in.unknown", b"text", "does not say its format; give --format"),
        ("missing-*.csv", b"", "missing-.*: no such file"),
    ],
)
def test_files_that_are_no_tables_are_refused(
    cactus: Cactus, router: ScriptedRouter, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    if "*" not in name:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputInvalid, match=message):
        cactus("batch", name, "-o", "out.jsonl", *TEMPLATE)
    assert not router.submitted()
    assert not (tmp_path / "out.jsonl").exists()


def test_files_of_one_table_have_one_format_and_fitting_columns(cactus: Cactus, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\nfine\n")
    pq.write_table(pa.table({"text": [1]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"text": ["fine"]}), tmp_path / "c.parquet")
    for names, message in (
        (("a.csv", "b.parquet"), "b.parquet: is parquet and a.csv is csv; all files have one format"),
        (("b.parquet", "c.parquet"), "c.parquet: the column 'text' is of type string, and int64 in the files before"),
        (("c.parquet", "[c].parquet"), "c.parquet: is named twice"),
    ):
        with pytest.raises(InputInvalid, match=message):
            cactus("batch", *names, "-o", "out.jsonl", *TEMPLATE)


def test_outputs_that_would_replace_something_are_refused(cactus: Cactus, reviews: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    other.write_bytes(b"precious")
    (tmp_path / "folder.parquet").mkdir()
    for output, message in (
        ("other.parquet", "exists already; --overwrite replaces it"),
        ("reviews.parquet", "is the input"),
        ("out.parquet.gz", "needs no .gz"),
        ("out", "does not say its format; give --output-format, or a folder: .* ends with /"),
        ("folder.parquet", "is a directory; the name of a folder, for a table in parts, ends with /"),
        ("missing/out.parquet", "there is no directory missing"),
    ):
        with pytest.raises(OutputRefused, match=message):
            cactus("batch", str(reviews), "-o", output, *TEMPLATE)
    assert other.read_bytes() == b"precious"
    assert cactus("batch", str(reviews), "-o", "out", *TEMPLATE, "--output-format", "jsonl").exit_code == 0
    assert [json.loads(line)["id"] for line in (tmp_path / "out").read_text().splitlines()] == [3, 1, 2]


def test_without_pyarrow_the_error_names_the_extra(
    cactus: Cactus, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cactus_actors.data.requirements.find_spec", lambda _: None)
    with pytest.raises(ConfigurationInvalid, match=r"pip install 'cactus-actors\[data\]'"):
        cactus("batch", str(reviews), "-o", "out.parquet", *TEMPLATE)

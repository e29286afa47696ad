"""`cactus_actors.data.map_rows`: tables in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cactus_actors.batch.batch_errors import InputChanged, InputInvalid
from cactus_actors.data import map_rows
from cactus_actors.protocol.errors import InvalidRequest
from tests.support.router.scripted_router import ScriptedRouter
from tests.support.text.reviews import ANSWERS, REVIEWS

TEMPLATE = "Say: {{ text }}"


def mapped(router: ScriptedRouter, rows: Any = REVIEWS, template: str = TEMPLATE, **changes: Any) -> Any:
    return map_rows(rows, template, endpoint=router.endpoint, stream_endpoint=router.stream_endpoint, **changes)


def test_an_arrow_table_gets_the_columns_of_its_answers(router: ScriptedRouter) -> None:
    table = mapped(router, columns=["id"], prefix="a_", temperature=0, system="Be brief.")
    assert table["id"].to_pylist() == [3, 1, 2]
    assert table["a_answer"].to_pylist() == ANSWERS
    assert {submit.options.temperature for submit in router.submitted()} == {0}
    assert {submit.messages[0].content for submit in router.submitted()} == {"Be brief."}


def test_a_directory_keeps_results_for_the_same_call(router: ScriptedRouter, tmp_path: Path) -> None:
    table = mapped(router, directory=tmp_path / "run")
    router.received.clear()
    assert mapped(router, directory=tmp_path / "run").equals(table)
    assert not router.submitted()
    with pytest.raises(InputChanged):
        mapped(router, REVIEWS.slice(1), directory=tmp_path / "run")


def test_any_object_with_arrow_s_stream_is_a_table(router: ScriptedRouter) -> None:
    class Frame:
        def __arrow_c_stream__(self, schema: object = None) -> object:
            return REVIEWS.__arrow_c_stream__(schema)

    table = mapped(router, Frame())
    assert isinstance(table, pa.Table)
    assert table["answer"].to_pylist() == ANSWERS


def test_a_frame_that_arrow_cannot_read_is_refused(router: ScriptedRouter) -> None:
    class Frame:
        def __arrow_c_stream__(self, schema: object = None) -> object:
            raise ValueError("columns of mixed types")

    with pytest.raises(InvalidRequest, match="rows cannot be read as a table: columns of mixed types") as caught:
        mapped(router, Frame())
    assert caught.value.param == "rows"
    assert not router.received


def test_wrong_arguments_are_refused_before_anything_is_sent(router: ScriptedRouter) -> None:
    with pytest.raises(InvalidRequest, match=r"rows are a table of pandas, Polars or Arrow, not builtins.list"):
        mapped(router, [{"text": "fine"}])
    with pytest.raises(InvalidRequest, match="unknown option 'temprature'; did you mean 'temperature'"):
        mapped(router, temprature=0)
    with pytest.raises(InputInvalid, match="no column 'txt'"):
        mapped(router, template="{{ txt }}")
    assert not router.received

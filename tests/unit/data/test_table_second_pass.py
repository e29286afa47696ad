"""A second pass over a table: the answers of a larger model are in its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.router.two_models import TwoModels


@pytest.fixture
def router() -> Iterator[TwoModels]:
    with TwoModels(step_s=0.001) as router:
        yield router


def test_rows_of_which_the_first_model_was_unsure_have_the_answers_of_the_second(
    answered: Callable[..., list[dict[str, Any]]], router: TwoModels, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"prompt": [f"prompt {number}" for number in (2, 0, 1)]}), tmp_path / "in.parquet")
    arguments = (str(tmp_path / "in.parquet"), "--cloud-handoff-threshold", "0.5")
    first = answered(*arguments, "--second-pass-model", "large")
    answers = [(row["model"], row["handoff_status"], row["answer"][:8]) for row in first]
    assert answers == [("large", "none", "PROMPT 2"), ("small", "none", "prompt 0"), ("large", "none", "PROMPT 1")]
    num_jobs = len(router.submitted())
    assert answered(*arguments, "--second-pass-model", "large", "--resume") == first
    assert len(router.submitted()) == num_jobs

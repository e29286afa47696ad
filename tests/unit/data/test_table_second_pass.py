"""A second pass over a table: the answers of a larger model are in its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.protocol.errors import Unavailable
from cactus_actors.protocol.messages import AskCloudBatch, CloudBatch
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


NUM_PARTS = 20  # more than are in the cloud at once


@pytest.fixture
def parts(router: TwoModels, tmp_path: Path) -> list[str]:
    """A command for 40 rows in 20 parts, of which the model is sure of the first row alone."""
    pq.write_table(
        pa.table({"prompt": [f"prompt {number}" for number in range(2 * NUM_PARTS)]}), tmp_path / "in.parquet"
    )
    options = ("--part-rows", "2", "--cloud-handoff-threshold", "0.5", "--second-pass")
    return ["batch", "in.parquet", "-o", "out/", *options]


def check_parts(folder: Path) -> None:
    rows = pyarrow.dataset.dataset(folder / "out", format="parquet").to_table().sort_by("prompt").to_pylist()
    assert len(rows) == 2 * NUM_PARTS
    for row in rows:
        is_sure = row["prompt"] == "prompt 0"
        assert (row["handoff_status"], row["model"]) == (("none", "small") if is_sure else ("completed", "big"))
        assert row["answer"] == (f"{row['prompt']} w1 w2 w3 w4" if is_sure else row["prompt"].upper())
    assert not (folder / "out/_cactus/unfinished").exists()


def test_the_cloud_has_the_second_pass_of_several_parts_at_once(
    cactus: Callable[..., typer.testing.Result], router: TwoModels, parts: list[str], tmp_path: Path
) -> None:
    answer, at_once = router.on_ask_batch, list[int]()

    def hold_the_first_two(identity: bytes, ask: AskCloudBatch) -> None:
        num_batches = len(router.batches)
        if ask.questions or num_batches > 2 or len(router.received) > 10_000:
            if not ask.questions:
                at_once.append(num_batches)
            answer(identity, ask)
        else:
            router.reply(identity, CloudBatch(mark=ask.mark, state="running", request_id=ask.request_id))

    router.on_ask_batch = hold_the_first_two  # type: ignore[method-assign]
    result = cactus(*parts)
    assert result.exit_code == 0, result.output
    assert "out/: second pass: " in result.stderr
    assert at_once[0] > 2
    assert len(router.batches) == NUM_PARTS
    check_parts(tmp_path)


def test_an_interrupted_second_pass_of_parts_asks_for_no_batch_twice(
    cactus: Callable[..., typer.testing.Result], router: TwoModels, parts: list[str], tmp_path: Path
) -> None:
    answer = router.on_ask_batch

    def refuse_the_fifth(identity: bytes, ask: AskCloudBatch) -> None:
        if len(router.batches) < 5:
            answer(identity, ask)
        else:
            refused = CloudBatch(mark=ask.mark, state="refused", reason="no key", request_id=ask.request_id)
            router.reply(identity, refused)

    router.on_ask_batch = refuse_the_fifth  # type: ignore[method-assign]
    with pytest.raises(Unavailable, match="the cloud cannot be asked: no key"):
        cactus(*parts)
    assert len(router.batches) == 5
    router.on_ask_batch = answer  # type: ignore[method-assign]
    assert cactus(*parts, "--resume").exit_code == 0
    assert len(router.batches) == NUM_PARTS
    asked = [
        question.question.messages[0]["content"]
        for ask in router.received_of(AskCloudBatch)
        for question in ask.questions
    ]
    assert len(asked) >= 2 * NUM_PARTS - 1
    check_parts(tmp_path)

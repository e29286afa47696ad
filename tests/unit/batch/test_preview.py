"""`cactus batch --dry-run` and `--estimate`: what a run would send and take; nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.batch.batch_errors import OptionsChanged, OutputRefused
from cactus_actors.protocol.messages import Finished
from cactus_actors.protocol.results import Handoff
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter

Cactus = Callable[..., typer.testing.Result]


def test_a_dry_run_shows_lines_as_they_would_be_sent(cactus: Cactus, router: ScriptedRouter, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('"a question"\n{"prompt": "a", "seed": 7}\nnot json\n"never shown"\n')
    arguments = ("batch", "in.jsonl", "-o", "out.jsonl", "--system", "Be brief.", "--max-tokens", "5", "--dry-run")
    result = cactus(*arguments, "--json")
    assert result.exit_code == 0
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "a question"}]
    shown = json.loads(result.stdout)["lines"]
    assert shown[:2] == [
        {"line": 1, "messages": asked, "options": {"max_tokens": 5}},
        {"line": 2, "prompt": "a", "options": {"max_tokens": 5, "seed": 7}},
    ]
    assert shown[2].keys() == {"line", "error"}
    assert len(shown) == 3
    assert cactus(*arguments).stdout.startswith('line 1: {\n  "messages": [')
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
    assert not router.received


def test_a_dry_run_shows_the_first_rows_of_a_table(cactus: Cactus, tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["z", "y", "x", "w"]}), tmp_path / "in.parquet")
    result = cactus(
        "batch", "in.parquet", "-o", "out.csv", "--prompt-template", "Say {{ text }}", "--dry-run", "--json"
    )
    shown = json.loads(result.stdout)["lines"]
    assert [(one["line"], one["messages"][0]["content"]) for one in shown] == [(1, "Say z"), (2, "Say y"), (3, "Say x")]


def test_a_limit_answers_the_first_lines(cactus: Cactus, router: ScriptedRouter, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"prompt": "a"}\n\n{"prompt": "b"}\n{"prompt": "c"}\n')
    with pytest.raises(OutputRefused, match=r"in.jsonl: is the input"):
        cactus("batch", "in.jsonl", "-o", "in.jsonl", "--limit", "2", "--overwrite")
    assert cactus("batch", "in.jsonl", "-o", "out.jsonl", "--limit", "2").exit_code == 0
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {line["custom_id"] for line in lines} == {"line-1", "line-3"}
    with pytest.raises(OptionsChanged, match="--limit was 2 and is 3 now"):
        cactus("batch", "in.jsonl", "-o", "out.jsonl", "--limit", "3", "--resume")
    (tmp_path / "in.jsonl").write_text('{"prompt": "a"}\n\n{"prompt": "b"}\nanother line\n')
    assert cactus("batch", "in.jsonl", "-o", "out.jsonl", "--limit", "2", "--resume").exit_code == 0
    assert len(router.submitted()) == 2


def test_an_estimate_asks_lines_of_all_parts_in_proportion(
    cactus: Cactus, router: ScriptedRouter, tmp_path: Path
) -> None:
    def hand_off_some(job: ScriptedJob, finished: Finished) -> None:
        if job.submit.prompt.endswith("0"):
            handoff = Handoff(status="completed", cost=0.5, currency="EUR", provider="big")
            finished = msgspec.structs.replace(
                finished, result=msgspec.structs.replace(finished.result, handoff=handoff, cloud_handoff=True)
            )
        end(job, finished)

    end, router.end = router.end, hand_off_some  # type: ignore[method-assign]
    lines = [json.dumps({"prompt": f"prompt {number}"}) for number in range(64)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    result = cactus("batch", "in.jsonl", "-o", "out.jsonl", "--estimate", "--json")
    assert result.exit_code == 0, result.output
    estimate: dict[str, Any] = json.loads(result.stdout)
    assert estimate.pop("seconds") > 0
    assert estimate == {
        "num_lines": 64,
        "num_sampled": 32,
        "prompt_tokens": 192,
        "completion_tokens": 320,
        "num_failed": 0,
        "num_handed_off": 14,  # prompts 0, 10, ... 60 of 0, 2, ... 62
        "cost": 7.0,
        "currency": "EUR",
    }
    assert {submit.prompt for submit in router.submitted()} == {f"prompt {number}" for number in range(0, 64, 2)}
    shown = cactus("batch", "in.jsonl", "-o", "out.jsonl", "--estimate").stdout.splitlines()
    assert shown[0] == "64 lines, by 32 that were asked, need about"
    assert shown[2:] == ["  192 tokens of prompts, 320 of answers", "  14 lines handed off for 7 EUR"]
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
    run = cactus("batch", "in.jsonl", "-o", "out.jsonl")
    assert run.stdout == "64 of 64 lines done (out.jsonl), 7 handed off\n"

"""The model of a run is asked the lines that name none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer.testing

from cactus_actors.batch import BatchProgress
from cactus_actors.batch.batch_errors import OptionsChanged
from cactus_actors.protocol.messages import ChatMessage, Submit
from tests.support.router.batch_runs import interrupted, records
from tests.support.router.scripted_router import ScriptedRouter
from tests.support.router.two_models import TwoModels


@pytest.fixture
def router() -> Iterator[TwoModels]:
    with TwoModels() as router:
        yield router


def asked_models(router: ScriptedRouter) -> dict[str, str | None]:
    """The model of each line, by its text."""
    submits = [submit for submit in router.received_of(Submit) if isinstance(submit, Submit)]
    return {text_of(submit): submit.model for submit in submits}


def text_of(submit: Submit) -> str:
    match submit.prompt, submit.messages:
        case str() as prompt, _:
            return prompt
        case _, [ChatMessage(content=str() as content)]:
            return content
    raise AssertionError(submit)


def body_line(name: str, **fields: str) -> str:
    line = {"custom_id": name, "method": "POST", "url": "/v1/completions", "body": {"prompt": name, **fields}}
    return json.dumps(line)


def test_lines_of_every_kind_that_name_no_model_ask_that_of_the_run(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    lines = ['"plain"', '{"prompt": "native"}', '{"prompt": "other", "model": "small"}']
    source.write_text("\n".join([*lines, body_line("body"), body_line("little body", model="little")]) + "\n")
    assert run(model="large").num_succeeded == 5
    small = {"other": "small", "little body": "little"}
    assert asked_models(router) == {"plain": "large", "native": "large", "body": "large", **small}
    answers = {name: line["response"]["body"]["model"] for name, line in records(tmp_path / "out.jsonl").items()}
    assert answers["body"] == "large"
    assert answers["little body"] == "little"


def test_lines_of_a_text_file_ask_the_model_of_the_run(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    (tmp_path / "prompts.txt").write_text("one\ntwo\n")
    assert run(source=tmp_path / "prompts.txt", model="big").num_succeeded == 2
    assert asked_models(router) == {"one": "big", "two": "big"}


def test_rows_of_tables_ask_the_model_of_the_command(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("text\none\ntwo\n")
    for out in ("out.csv", "parts/"):
        router.received.clear()
        told = ("--prompt-template", "{{ text }}", "--model", "large")
        assert cactus("batch", "in.csv", "-o", out, *told).exit_code == 0
        assert asked_models(router) == {"one": "large", "two": "large"}
    with pytest.raises(OptionsChanged, match='--model was "large" and is "small" now'):
        cactus("batch", "in.csv", "-o", "parts/", *told[:2], "--model", "small", "--resume")


def test_a_dry_run_shows_the_model_of_the_command(cactus: Callable[..., typer.testing.Result], source: Path) -> None:
    shown = cactus("batch", str(source), "-o", "out.jsonl", "--model", "large", "--dry-run", "--json").stdout
    assert [line["model"] for line in json.loads(shown)["lines"]] == ["large"] * 3


def test_a_run_is_resumed_with_its_model_alone(run: Callable[..., BatchProgress], router: ScriptedRouter) -> None:
    interrupted(lambda **changes: run(model="large", **changes), router, after=3)
    for model, told in ((None, 'was "large" and is not given now'), ("small", 'was "large" and is "small" now')):
        with pytest.raises(OptionsChanged, match=f"--model {told}"):
            run(resume=True, model=model)
    assert run(resume=True, model="large").num_succeeded == 20
    assert set(asked_models(router).values()) == {"large"}

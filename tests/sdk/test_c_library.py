"""C programs that use the shared library: compiled by cc, run as processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cactus_actors.ffi import build as building
from cactus_actors.protocol.errors import ConfigurationInvalid
from tests.support.text import c_programs as programs
from tests.support.text.c_compiler import needs_compiler, run

pytestmark = needs_compiler


def test_the_basic_program_runs(library: Path, tmp_path: Path) -> None:
    result = json.loads(run(programs.BASIC, library, tmp_path))
    assert result["success"] is True
    assert result["text"] == result["response"] != ""


def test_the_streaming_program_runs(library: Path, tmp_path: Path) -> None:
    story = run(programs.STREAMING, library, tmp_path)
    assert len(story.split()) > 5


def test_the_tool_program_runs(library: Path, tmp_path: Path) -> None:
    result = json.loads(run(programs.TOOLS, library, tmp_path))
    assert result["success"] is True
    assert result["stop_reason"] == "tool_call"
    [call] = result["tool_calls"]
    assert call["name"] == "get_weather"
    assert isinstance(call["arguments"]["location"], str)


def test_edge_cases_return_errors(library: Path, tmp_path: Path) -> None:
    lines = run(programs.EDGES, library, tmp_path, "cactus-sprout", flags=("-Wall", "-Wextra", "-Werror"))
    said = [line.partition(": ")[::2] for line in lines.splitlines()]
    whole = json.loads(dict(said)["answer"])
    answers = [json.loads(text) for name, text in said if name == "its answer"]
    assert [pair for pair in said if pair[0] not in ("answer", "its answer", "its error")] == [
        ("no model", "1"),
        ("null path", "1"),
        ("null model", "-1"),
        ("bytes", f"{len(dict(said)['answer'].encode())} {len(dict(said)['answer'].encode())}"),
        ("streamed", f"300 {len(whole['text'].encode())}"),
        ("sizes", " ".join(["1"] * 20)),
        ("null buffer", "-1"),
        ("null messages", "-1"),
        ("not utf-8", "-1"),
        ("not json", "-1"),
        ("unicode", "1"),
        ("stopped", "1"),
        ("tokens", "0 2"),
        ("too few", "-2"),
        ("no room", "-2 256"),
        ("embedded", "0 1.000"),
        ("scored", "1"),
        ("null tokens", "-1"),
        ("prefilled", "1"),
        ("retrieved", "0"),
        ("destroyed", "-1"),
    ]
    uninitialised, stopped, scored, nothing = answers
    assert (uninitialised["success"], uninitialised["error"]) == (False, "Model not initialized")
    assert uninitialised.keys() == whole.keys()
    assert (stopped["stop_reason"], stopped["completion_tokens"]) == ("cancelled", 3)
    assert scored["logprob"] < 0
    assert scored["tokens"] == 2
    assert nothing["chunks"] == []
    errors = [text for name, text in said if name == "its error"]
    assert "/no/such/model" in errors[0]
    assert "destroyed" in errors[1]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("shutil", "which", lambda _: None), "no C compiler"),
        (("sysconfig", "get_path", lambda _: "/nowhere"), r"Python\.h"),
        (("sysconfig", "get_config_var", lambda _: None), "libpython"),
    ],
)
def test_missing_files_are_named(
    change: tuple[str, str, object], told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module, name, value = change
    monkeypatch.setattr(getattr(building, module), name, value)
    with pytest.raises(ConfigurationInvalid, match=told):
        building.build(tmp_path)

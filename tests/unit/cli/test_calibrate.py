"""`cactus calibrate`: its table, its threshold and its output files."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from cactus_actors.models.confidence_fits import read_probability, read_probe
from cactus_actors.protocol.errors import ConfigurationInvalid, InvalidRequest
from cactus_actors.protocol.messages import Finished, Submit
from cactus_actors.protocol.results import GateInputs, Measures
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter
from tests.support.router.two_models import of_two_models


def answer_with_entropy(monkeypatch: pytest.MonkeyPatch, entropy_of: Callable[[ScriptedJob], float]) -> None:
    """Let answers end by themselves, with measures that follow from the entropy that `entropy_of` gives each."""
    finish = ScriptedJob.finish

    def finish_with_measures(job: ScriptedJob, **changes: object) -> Finished:
        entropy = entropy_of(job)
        measures = Measures(mean_logprob=-entropy, min_token_prob=0.5, entropy_mean=entropy, entropy_max=entropy)
        return finish(job, finish_reason="stop", measures=measures, **changes)

    monkeypatch.setattr(ScriptedJob, "finish", finish_with_measures)


def answers_of(path: Path) -> list[dict[str, Any]]:
    """The lines of --answers: the head, and the judged answers."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def serve_two_models(monkeypatch: pytest.MonkeyPatch) -> None:
    status = ScriptedRouter.status
    monkeypatch.setattr(ScriptedRouter, "status", lambda self, request_id: of_two_models(status(self, request_id)))


def test_calibrate_finds_a_threshold_and_writes_the_requested_files(
    cactus: Callable[..., typer.testing.Result],
    router: ScriptedRouter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Questions 0 to 59; answers below 20 are unsure and wrong."""
    answer_with_entropy(monkeypatch, lambda job: 0.9 if int(job.texts[0]) < 20 else 0.01 * int(job.texts[0]))
    lines = [{"question": str(number), "contains": "w4" if number >= 20 else "w9"} for number in range(60)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, lines)))
    flags = [
        "--temperature",
        "0",
        "--plot",
        "curve.png",
        "--answers",
        "answers.jsonl",
        "--probe",
        "probe.json",
        "--probability",
        "probability.json",
        "--second",
        router.endpoint,
    ]
    result = cactus("calibrate", "data.jsonl", "--precision", "0.99", *flags)
    head, *table = result.stdout.splitlines()
    assert head == "60 answers, 66.7% right (second service 66.7%)"
    assert table[0] == "Greedy answers: temperature 0, max_tokens 512."
    (entropy,) = (line.split() for line in table if line.startswith("entropy "))
    assert " ".join(entropy) == "entropy 1.000 0.26 33.3% 100.0% 91.2-100.0% 40 of 40 66.7%"
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    head, *rows = answers_of(tmp_path / "answers.jsonl")
    assert (head["precision"], head["max_error"], head["model"] != "") == (0.99, None, True)
    [found] = [one["threshold"] for one in head["thresholds"] if one["signal"] == "entropy"]
    assert len(rows) == 60
    assert [row["question"] for row in rows if row["scores"]["entropy"] < found] == [
        str(number) for number in range(20)
    ]
    assert all(row["is_right"] == ("w4" in row["answer"] and row["expected"] == "w4") for row in rows)
    assert read_probe(tmp_path / "probe.json").entropy_mean < 0
    probability = read_probability(tmp_path / "probability.json")
    assert (probability.signal, probability(0.0) < 0.1, probability(1.0) > 0.9) == ("entropy", True, True)
    assert any(line.startswith("new probability 1.000 ") for line in table)
    assert table[-4:] == [
        "In cactus.toml, with cloud_handoff_threshold 0.33 in requests:",
        "  [handoff]",
        '  confidence_signal = "probability"',
        '  probability_file = "probability.json"',
    ]
    assert table[table.index("Expected calibration error (ECE) of the probabilities:") + 1].startswith("  new prob")
    submits = router.received_of(Submit)
    assert {(submit.options.allow_cloud, submit.options.temperature) for submit in submits} == {(False, 0.0)}
    report = json.loads(cactus("calibrate", "data.jsonl", "--cloud-share", "0.1", "--json").stdout)
    assert (report["num_answers"], report["second_accuracy"]) == (60, None)
    assert report["options"] == {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "seed": 0, "max_tokens": 512}
    assert all(signal["cut"]["handed_off"] <= 0.1 for signal in report["signals"] if signal["cut"])
    circular = cactus("calibrate", "data.jsonl", "--signal", "probability", "--probability", "p.json")
    assert (circular.exit_code, "fitted to another signal" in circular.stderr) == (2, True)
    both = cactus("calibrate", "data.jsonl", "--cloud-share", "0.1", "--precision", "0.5")
    assert (both.exit_code, "give one of" in both.stderr) == (2, True)


def test_calibrate_grants_a_bound_for_all_or_for_groups(
    cactus: Callable[..., typer.testing.Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with_entropy(monkeypatch, lambda _: 0.1)
    lines = [{"question": str(number), "contains": "w4", "group": "ab"[number % 2]} for number in range(20, 140)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, lines)))
    flags = ["--max-error", "0.05", "--signal", "min_token_prob"]
    table = cactus("calibrate", "data.jsonl", *flags, "--answers", "answers.jsonl").stdout.splitlines()
    assert table[0] == "120 answers, 100.0% right"
    assert table[1:3] == [
        "Sampled answers: temperature 0.6, top_p 0.95, top_k 20, seed 0, max_tokens 512.",
        "Calibrate with the options of your requests; --temperature 0 is greedy.",
    ]
    assert table[3] == "With 95.0% confidence, at most 5.0% of the answers that stay are wrong,"
    assert [line.split()[:5] for line in table[6:8]] == [[group, "0", "60", "of", "60"] for group in "ab"]
    head, *rows = answers_of(tmp_path / "answers.jsonl")
    assert (head["max_error"], head["confidence"], head["signal"]) == (0.05, 0.95, "min_token_prob")
    assert [(one["group"], one["signal"], one["threshold"]) for one in head["thresholds"]] == [
        ("a", "min_token_prob", 0.0),
        ("b", "min_token_prob", 0.0),
    ]
    assert [row["group"] for row in rows] == ["a", "b"] * 60
    assert {row["scores"]["min_token_prob"] for row in rows} == {0.5}
    report = json.loads(cactus("calibrate", "data.jsonl", *flags, "--confidence", "0.99", "--json").stdout)
    assert all(one["threshold"] is None and one["labels_needed"] > 29 for one in report["grants"].values())
    for flag, value in (("--max-error", "0"), ("--confidence", "1")):
        refused = cactus("calibrate", "data.jsonl", "--max-error", "0.05", flag, value)
        assert (refused.exit_code, "between 0 and 1" in refused.stderr) == (2, True)


def test_calibrate_chooses_the_thresholds_of_a_cascade_together(
    cactus: Callable[..., typer.testing.Result],
    router: ScriptedRouter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 400 questions the small model knows the last 200, and is sure of these; the large one knows the last 300."""

    def entropy_of(job: ScriptedJob) -> float:
        knows = int(job.texts[0]) >= {"small": 200, "large": 100}[job.submit.model or ""]
        if not knows:
            job.texts[1] = " nothing"
        return (0.1 if knows else 0.7) + int(job.texts[0]) / 10_000

    answer_with_entropy(monkeypatch, entropy_of)
    serve_two_models(monkeypatch)
    lines = [{"question": str(number), "contains": "w1"} for number in range(400)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, lines)))
    flags = ["--max-error", "0.05", "--signal", "entropy", "--cascade", "small, large", "--costs", "0.1,0.2,1"]
    report = json.loads(cactus("calibrate", "data.jsonl", *flags, "--json").stdout)
    assert (report["is_granted"], report["num_tested"]) == (True, 320)
    assert report["num_wrong"] < 0.05 * report["num_kept"]
    assert [(tier["model"], tier["accuracy"]) for tier in report["tiers"]] == [("small", 0.5), ("large", 0.75)]
    assert [0.2 < tier["threshold"] < 0.9 for tier in report["tiers"]] == [True, True], report
    small, large = (tier["kept"] for tier in report["tiers"])
    assert report["handed_off"] == pytest.approx(1 - small - large)
    assert report["cost"] == pytest.approx(0.1 + 0.2 * (1 - small) + report["handed_off"])
    assert 0.15 < report["handed_off"] < 0.35
    assert {submit.model for submit in router.received_of(Submit)} == {"small", "large"}
    table = cactus("calibrate", "data.jsonl", *flags).stdout.splitlines()
    assert [line.split()[0] for line in table[4:8]] == ["model", "small", "large", "handed"]
    tiers = tomllib.loads("\n".join(table[table.index("In cactus.toml:") + 1 :]))["cascade"]["tiers"]
    assert [tier["model"] for tier in tiers] == ["small", "large", "cloud"]
    assert [tier["threshold"] for tier in tiers[:2]] == [tier["threshold"] for tier in report["tiers"]]
    (tmp_path / "few.jsonl").write_text("\n".join(map(json.dumps, lines[100::10])))
    none = cactus("calibrate", "few.jsonl", "--max-error", "0.001", *flags[2:]).stdout
    assert none.splitlines()[2].startswith("No thresholds have a bound of 0.1%")
    assert re.search(r"^the smallest bound of these answers is \d+\.\d%\.$", none, re.MULTILINE)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--cascade", "a,b"], "give --max-error"),
        (["--costs", "1,2"], "are those of --cascade"),
        (["--max-error", "0.1", "--cascade", "a,,b"], "different names of models"),
        (["--max-error", "0.1", "--cascade", "a,a"], "different names of models"),
        (["--max-error", "0.1", "--cascade", "a", "--costs", "1"], "takes 2 numbers"),
        (["--max-error", "0.1", "--cascade", "a", "--costs", "1,nan"], "takes 2 numbers"),
        (["--max-error", "0.1", "--cascade", "a", "--costs", "1,x"], "takes numbers"),
        (["--max-error", "0.1", "--cascade", "a", "--model", "a"], "--model is about one model"),
        (["--max-error", "0.1", "--cascade", "a", "--plot", "p.png"], "--plot is about one model"),
        (["--max-error", "0.1", "--cascade", "a", "--prompt-probe", "p.json"], "--prompt-probe is about one model"),
        (["--max-error", "0.1", "--cascade", "a", "--probability", "p.json"], "--probability is about one model"),
    ],
)
def test_calibrate_refuses_what_is_no_cascade(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter, tmp_path: Path, flags: list[str], message: str
) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps({"question": "1", "contains": "w4"}))
    refused = cactus("calibrate", "data.jsonl", *flags)
    assert (refused.exit_code, message in " ".join(refused.stderr.replace("│", "").split())) == (2, True)
    assert not router.received_of(Submit)


def test_one_of_several_models_is_asked_by_its_name(
    cactus: Callable[..., typer.testing.Result],
    router: ScriptedRouter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer_with_entropy(monkeypatch, lambda _: 0.1)
    serve_two_models(monkeypatch)
    (tmp_path / "data.jsonl").write_text('{"question": "0", "contains": "w1"}')
    with pytest.raises(InvalidRequest, match="--model: no model 'huge'; models of this service: small, large"):
        cactus("calibrate", "data.jsonl", "--model", "huge")
    assert router.received_of(Submit) == []
    assert cactus("calibrate", "data.jsonl", "--model", "big").exit_code == 0
    assert [submit.model for submit in router.received_of(Submit)] == ["big"]


def test_the_models_of_a_cascade_are_different_ones_of_the_service(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps({"question": "1", "contains": "w4"}))
    command = ("calibrate", "data.jsonl", "--max-error", "0.1", "--cascade")
    with pytest.raises(InvalidRequest, match="the service has one model"):
        cactus(*command, "small,large")
    serve_two_models(monkeypatch)
    with pytest.raises(InvalidRequest, match="no model 'larger'; models of this service: small, large; did you mean"):
        cactus(*command, "small,larger")
    with pytest.raises(InvalidRequest, match="two of the names are of one model"):
        cactus(*command, "small,little")
    assert not router.received_of(Submit)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--confidence", "0.9"], "about the bound of --max-error"),
        (["--precision", "0.9", "--first-gate", "0"], "about the bound of --max-error"),
        (["--signal", "entropy"], "without them every signal has a row"),
    ],
)
def test_calibrate_refuses_options_without_effect(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter, tmp_path: Path, flags: list[str], message: str
) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps({"question": "1", "contains": "w4"}))
    refused = cactus("calibrate", "data.jsonl", *flags)
    assert (refused.exit_code, message in " ".join(refused.stderr.replace("│", "").split())) == (2, True)
    assert not router.received_of(Submit)


@pytest.mark.parametrize("flag", ["--plot", "--probe", "--probability", "--prompt-probe"])
def test_calibrate_sends_no_request_if_a_file_cannot_be_written(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter, tmp_path: Path, flag: str
) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps({"question": "1", "contains": "w4"}))
    for path, message in ((tmp_path, "Is a directory"), (tmp_path / "none" / "file", "there is no directory")):
        with pytest.raises(ConfigurationInvalid, match=message):
            cactus("calibrate", "data.jsonl", flag, str(path))
    assert not router.received_of(Submit)


def test_calibrate_counts_the_answers_that_ended_at_max_tokens(
    cactus: Callable[..., typer.testing.Result], tmp_path: Path
) -> None:
    lines = [{"question": str(number), "contains": "w4"} for number in range(20)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, lines)))
    summary = cactus("calibrate", "data.jsonl").stdout.splitlines()[0]
    assert summary == "20 answers, 0.0% right, 20 ended at max_tokens (wrong)"


def test_calibrate_sends_no_request_if_the_plot_cannot_be_drawn(
    cactus: Callable[..., typer.testing.Result],
    router: ScriptedRouter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (tmp_path / "data.jsonl").write_text(json.dumps({"question": "1", "contains": "w4"}))
    with pytest.raises(ConfigurationInvalid, match=r"pip install 'cactus-actors\[plots\]'"):
        cactus("calibrate", "data.jsonl", "--plot", "curve.png")
    assert not router.received_of(Submit)
    assert cactus("calibrate", "data.jsonl").exit_code == 0


def test_calibrate_prints_its_table_although_a_probe_needs_more_answers(
    cactus: Callable[..., typer.testing.Result], tmp_path: Path
) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps({"question": "1", "contains": "w4"}))
    printed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer, "echo", lambda line, **_: printed.append(line))
        with pytest.raises(ConfigurationInvalid, match="at least 10 right and 10 wrong answers are needed"):
            cactus("calibrate", "data.jsonl", "--probe", "probe.json")
    assert printed[0].startswith("1 answer, ")
    assert not (tmp_path / "probe.json").exists()


def test_a_probe_of_prompts_for_two_services_says_which_questions_are_missing(
    cactus: Callable[..., typer.testing.Result],
    router: ScriptedRouter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = GateInputs(
        entropies=[0.1], logprobs=[-0.1], first_gate_tokens=1, commit_tokens=1, prompt_states={1: bytes(8)}
    )
    finish = ScriptedJob.finish
    monkeypatch.setattr(
        ScriptedJob, "finish", lambda job, **changes: finish(job, measures=Measures(gate_inputs=seen), **changes)
    )
    (tmp_path / "data.jsonl").write_text(json.dumps({"question": "1", "contains": "w4"}))
    needed = "at least 10 questions that are answered wrong here and right by --second and 10 others are needed"
    with pytest.raises(ConfigurationInvalid, match=f"no probe of prompts was fitted: {needed}"):
        cactus("calibrate", "data.jsonl", "--prompt-probe", "prompt.json", "--second", router.endpoint)

"""`cactus` commands: what they print, and errors as one line with an exit code."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer.testing
from huggingface_hub import constants

from cactus_actors.batch import BatchProgress, Reason
from cactus_actors.cli.batch_progress import ProgressLog, show_reasons
from cactus_actors.cli.bench_service import percentile
from cactus_actors.cli.main import exit_code, main
from cactus_actors.cli.terminal import natural_order
from cactus_actors.models.catalog import list_models
from cactus_actors.models.confidence_probe import read_probe
from cactus_actors.protocol.errors import (
    ConfigurationInvalid,
    InvalidRequest,
    ModelFailure,
    ModelFileInvalid,
    NotSupported,
    Overloaded,
    Unavailable,
)
from cactus_actors.protocol.messages import Cancel, Finished, Rejected, Submit
from cactus_actors.protocol.results import Handoff, Measures
from cactus_actors.workers.families.registry import FAMILIES
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter, until
from tests.support.text.read_integers import inexact_integers

COMMANDS = (
    "serve",
    "complete",
    "chat",
    "batch",
    "status",
    "scale",
    "restart",
    "models",
    "quantize",
    "auth",
    "calibrate",
    "bench",
    "demo",
    "keys new",
    "keys list",
    "keys revoke",
    "keys server",
)

Outcome = tuple[int, str, str]


def run_main(*arguments: str, environment: dict[str, str] | None = None) -> Outcome:
    """Run the command as a user does, in a process of its own."""
    finished = subprocess.run(
        [sys.executable, "-m", "cactus_actors.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | (environment or {}),
    )
    return finished.returncode, finished.stdout, finished.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(cactus: Callable[..., typer.testing.Result], command: str) -> None:
    result = cactus(*command.split(), "--help")
    assert result.exit_code == 0
    assert cactus(*command.split(), "-h").stdout == result.stdout
    assert f"Example: cactus {command}" in result.stdout


@pytest.mark.parametrize("command", ["", "keys", *COMMANDS])
def test_help_fits_a_terminal_of_80_columns_and_cuts_no_word(command: str) -> None:
    _, shown, _ = run_main(*command.split(), "--help", environment={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown, shown
    assert not re.search(r"[<>]|default[: ]*\(", shown.replace("auth < key.txt", "")), shown
    assert re.search(r"^  -h, --help +Show this message and exit\.$", shown, re.MULTILINE)


def test_help_shows_flags_values_ranges_and_defaults(cactus: Callable[..., typer.testing.Result]) -> None:
    serve = " ".join(cactus("serve", "-h").stdout.split())
    for entry in (
        "--weights float32|bfloat16|int8|int4 Format of the weights in memory. (default int8)",
        "--workers INTEGER Number of model workers. (0 to 256; default 1)",
        "--journal, --no-journal Keep accepted jobs on disk, so that they survive a restart. (default --journal)",
        "--no-http Serve without the HTTP gateway.",
    ):
        assert entry in serve
    assert "Usage: cactus scale [OPTIONS] N\n" in cactus("scale", "-h").stdout
    assert "(default tcp://127.0.0.1:5555; or CACTUS_ENDPOINT)" in " ".join(cactus("scale", "-h").stdout.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("serve --weights int3", "'--weights': it must be one of float32, bfloat16, int8, int4"),
        ("serve --placement here", "'--placement': it must be one of local, ray"),
        ("serve --threads 0", "'--threads': it must be an integer, at least 1"),
        ("serve --workers many", "'--workers': it must be an integer, 0 to 256"),
        ("complete hi --temperature hot", "'--temperature': it must be a number"),
        ("calibrate x --precision 2", "'--precision': it must be a number, 0 to 1"),
        ("keys new bob --role boss", "'--role': it must be one of client, worker, operator"),
        ("scale many", "'N': give a number of workers, 0 or more, not many"),
    ],
)
def test_a_wrong_value_is_told_in_plain_words(
    cactus: Callable[..., typer.testing.Result], arguments: str, words: str
) -> None:
    result = cactus(*arguments.split())
    assert result.exit_code == 2
    assert f"Invalid value for {words}" in " ".join(re.sub("[│╭╮╰╯─]", " ", result.stderr).split())


def test_quantize_prints_the_path_alone_on_stdout(tmp_path: Path) -> None:
    environment = {"CACTUS_CACHE_DIR": str(tmp_path / "cache")}
    for did in ("packed in", "packed already"):
        code, out, err = run_main("quantize", "--weights", "int8", environment=environment)
        assert (code, Path(out.removesuffix("\n")).is_file()) == (0, True)
        assert re.fullmatch(rf"[0-9.]+ MB int8, {did}.*\n", err)


def test_reasons_of_failed_lines_are_whole_at_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cactus_actors.cli.terminal.SCRIPT_WIDTH", 80)
    message = "messages[0].content must be a string or a list, not an integer; " * 4
    show_reasons(
        [
            Reason(code="invalid_request_error", param="messages[0].content", count=12, message=message, first_line=3),
            Reason(code="server_error", param=None, count=1, message="it broke", first_line=None),
        ]
    )
    shown = capsys.readouterr().err
    assert max(map(len, shown.splitlines())) <= 80
    assert " ".join(shown.split()) == (
        "12 lines failed with invalid_request_error (messages[0].content), the first is line 3: "
        f"{message}1 line failed with server_error: it broke"
    )


def test_version_and_help(cactus: Callable[..., typer.testing.Result]) -> None:
    assert cactus("--version").stdout == f"cactus-actors {importlib.metadata.version('cactus-actors')}\n"
    assert "small language models" in cactus("-h").stdout


def test_complete(cactus: Callable[..., typer.testing.Result], router: ScriptedRouter) -> None:
    assert cactus("complete", "hello").stdout == "hello w1 w2 w3 w4\n"
    assert cactus("complete", "hello", "--stream").stdout == "hello w1 w2 w3 w4\n"
    assert cactus("complete", input="from stdin\n").stdout == "from stdin w1 w2 w3 w4\n"
    assert cactus("complete", "hello", "world", "--max-tokens", "1").stdout == "hello world\n"
    asked = [message for message in router.received if isinstance(message, Submit)]
    assert [len(submit.messages or []) for submit in asked] == [1, 1, 1, 1]


def test_reasoning_is_shown_beside_the_answer_or_hidden(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    router.num_reasoning_tokens = 2
    for stream in ([], ["--stream"]):
        hidden = cactus("complete", "hello", *stream)
        assert (hidden.stdout, hidden.stderr) == ("hello w1 w2 w3 w4\n", "")
        shown = cactus("complete", "hello", "--show-reasoning", *stream)
        assert (shown.stdout, shown.stderr) == ("hello w1 w2 w3 w4\n", "hmhm\n\n")
    assert json.loads(cactus("complete", "hello", "--json").stdout)["reasoning_content"] == "hmhm"
    cactus("complete", "hello", "--no-think", "--thinking-budget", "7")
    last = router.received_of(Submit)[-1]
    assert isinstance(last, Submit)
    assert (last.options.enable_thinking, last.options.thinking_budget) == (False, 7)


def test_a_chat_remembers_what_was_thought(cactus: Callable[..., typer.testing.Result], router: ScriptedRouter) -> None:
    router.num_reasoning_tokens = 2
    result = cactus("chat", "--think", "--show-reasoning", input="one\ntwo\n")
    assert result.stdout == "one w1 w2 w3 w4\ntwo w1 w2 w3 w4\n"
    assert result.stderr.count("hmhm\n\n") == 2
    assert "7 tokens, 2 of reasoning" in result.stderr
    last = router.received_of(Submit)[-1]
    assert isinstance(last, Submit)
    assert [turn.reasoning_content for turn in last.messages or []] == [None, "hmhm", None]
    assert last.options.enable_thinking is True


@pytest.mark.parametrize(("arguments", "given"), [([""], None), ([], ""), ([], "\n"), (["--raw"], "")])
def test_an_empty_prompt_is_an_error(
    cactus: Callable[..., typer.testing.Result], arguments: list[str], given: str | None
) -> None:
    with pytest.raises(InvalidRequest, match="prompt is empty"):
        cactus("complete", *arguments, input=given)


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_a_prompt_that_is_not_utf8_is_told_plainly(locale: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "cactus_actors.cli.main", "complete"],
        input=b"caf\xe9",
        capture_output=True,
        timeout=60,
        env=os.environ | {"LC_ALL": locale, "CACTUS_ENDPOINT": "tcp://127.0.0.1:9"},
    )
    assert (finished.returncode, finished.stderr) == (2, b"error: stdin is not UTF-8 at byte 3\n")


def test_a_handoff_is_told_even_when_nobody_sits_at_the_terminal(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    def hand_off(job: ScriptedJob, finished: Finished) -> None:
        end(job, job.finish(handoff=Handoff(status="failed", reason="the cloud answered 401")))

    assert cactus("complete", "hello").stderr == ""
    end, router.end = router.end, hand_off  # type: ignore[method-assign]
    result = cactus("complete", "hello")
    assert result.stdout == "hello w1 w2 w3 w4\n"
    assert "handoff failed: the cloud answered 401" in result.stderr


def test_complete_options_reach_the_service(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    flags = "--raw --max-tokens 2 --temperature 0 --seed 7 --stop a --stop b --no-cloud --timeout-ms 9000"
    result = cactus("complete", "hello", "--json", *flags.split())
    answer = json.loads(result.stdout)
    assert (answer["text"], answer["finish_reason"], answer["seed"]) == ("hello w1", "length", 7)
    [submit] = [message for message in router.received if isinstance(message, Submit)]
    assert submit.prompt == "hello"
    options = submit.options
    assert (options.temperature, options.stop, options.allow_cloud) == (0.0, ["a", "b"], False)
    assert options.timeout_ms == 9000


def test_complete_falls_back_to_text_without_a_chat_template(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    def without_template(identity: bytes, submit: Submit) -> None:
        if submit.messages is None:
            on_submit(identity, submit)
            return
        error = NotSupported("the model has no chat template", param="messages").info()
        router.reply(identity, Rejected(error=error, job_id=submit.job_id))

    on_submit, router.on_submit = router.on_submit, without_template  # type: ignore[method-assign]
    for flags in ([], ["--stream"]):
        assert cactus("complete", "hello", *flags).stdout == "hello w1 w2 w3 w4\n"
    with pytest.raises(NotSupported):
        cactus("complete", "hello", "--system", "be brief")


def test_complete_streams_json_lines(cactus: Callable[..., typer.testing.Result]) -> None:
    *deltas, result = [json.loads(line) for line in cactus("complete", "hi", "--stream", "--json").stdout.splitlines()]
    assert "".join(delta["text"] for delta in deltas) == result["text"] == "hi w1 w2 w3 w4"


def test_chat_remembers_and_resets(cactus: Callable[..., typer.testing.Result], router: ScriptedRouter) -> None:
    result = cactus("chat", "--system", "brief", input="one\n\n/help\ntwo\n/reset\n/what\nthree\n/exit\nnever\n")
    assert result.stdout == "one w1 w2 w3 w4\ntwo w1 w2 w3 w4\nthree w1 w2 w3 w4\n"
    assert "confidence 0.90" in result.stderr
    assert "no command /what" in result.stderr
    roles = [
        [turn.role for turn in message.messages or []] for message in router.received if isinstance(message, Submit)
    ]
    opening = ["system", "user"]
    assert roles == [opening, [*opening, "assistant", "user"], opening]


def test_chat_refuses_wrong_options_before_it_opens(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    with pytest.raises(InvalidRequest, match="temperature must be between"):
        cactus("chat", "--temperature", "9", input="hello\n")
    assert not router.received


def test_chat_with_a_model_without_a_template_ends_at_once(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    def without_template(identity: bytes, submit: Submit) -> None:
        error = NotSupported("the model has no chat template", param="messages").info()
        router.reply(identity, Rejected(error=error, job_id=submit.job_id))

    router.on_submit = without_template  # type: ignore[method-assign]
    with pytest.raises(NotSupported, match="no chat template"):
        cactus("chat", input="one\ntwo\n")
    assert len(router.received_of(Submit)) == 1


def test_an_interrupt_before_the_job_is_accepted_keeps_the_conversation(router: ScriptedRouter) -> None:
    def hold_the_second(identity: bytes, submit: Submit) -> None:
        if submit.messages is None or submit.messages[-1].content != "second":
            on_submit(identity, submit)

    on_submit, router.on_submit = router.on_submit, hold_the_second  # type: ignore[method-assign]
    endpoints = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    with subprocess.Popen(
        [sys.executable, "-m", "cactus_actors.cli.main", "chat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | endpoints,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as chat:
        assert chat.stdin is not None
        chat.stdin.write("first\nsecond\n")
        chat.stdin.flush()
        until(lambda: len(router.received_of(Submit)) == 2, 30)
        chat.send_signal(signal.SIGINT)
        until(lambda: bool(router.received_of(Cancel)))
        stdout, stderr = chat.communicate("third\n", timeout=30)
    assert chat.returncode == 0, stderr
    assert stdout == "first w1 w2 w3 w4\n\nthird w1 w2 w3 w4\n"
    assert "stopped" in stderr
    last = router.received_of(Submit)[-1]
    assert isinstance(last, Submit)
    assert [turn.content for turn in last.messages or []] == ["first", "first w1 w2 w3 w4", "third"]


def test_batch_writes_results_and_says_so(cactus: Callable[..., typer.testing.Result], tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    result = cactus("batch", "in.txt", "-o", "out.jsonl", "--max-in-flight", "1")
    assert result.stdout == "2 of 2 lines done (out.jsonl)\n"
    report = json.loads(cactus("batch", "in.txt", "-o", "out.jsonl", "--overwrite", "--json").stdout)
    assert not any(map(inexact_integers, Path("out.jsonl").read_text().splitlines()))
    assert (report["lines"], report["succeeded"], report["failed"], report["completion_tokens"]) == (
        2,
        2,
        0,
        10,
    )
    assert report["errors"] is None  # no line failed


def test_a_log_tells_the_progress_of_a_prompt_file_now_and_then() -> None:
    log = ProgressLog("in.txt")
    progress = BatchProgress(
        num_lines=1000, num_succeeded=200, num_failed=0, num_resumed=200, completion_tokens=0, started=50.0
    )
    assert log.line(progress, 50.0) == "in.txt: 200 of 1000 lines"
    progress.num_succeeded, progress.num_failed, progress.completion_tokens = 390, 10, 5000
    assert log.line(progress, 59.9) is None
    assert log.line(progress, 60.0) == "in.txt: 400 of 1000 lines, 10 failed, 500 tokens/s, 30 s left"
    assert log.line(progress, 60.1) is None
    assert log.line(progress, 450.0) == "in.txt: 400 of 1000 lines, 10 failed, 12 tokens/s, 20 min left"


def test_calibrate_finds_a_threshold_and_writes_what_it_is_told_to(
    cactus: Callable[..., typer.testing.Result],
    router: ScriptedRouter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Questions 0 to 59; below 20 the answer is doubtful and wrong."""
    finish = ScriptedJob.finish

    def finish_with_measures(job: ScriptedJob, **changes: object) -> Finished:
        number = int(job.texts[0])
        entropy = 0.9 if number < 20 else 0.01 * number
        measures = Measures(mean_logprob=-entropy, min_token_prob=0.5, entropy_mean=entropy, entropy_max=entropy)
        return finish(job, finish_reason="stop", measures=measures, **changes)

    monkeypatch.setattr(ScriptedJob, "finish", finish_with_measures)
    lines = [{"question": str(number), "contains": "w4" if number >= 20 else "w9"} for number in range(60)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, lines)))
    flags = [
        "--temperature",
        "0",
        "--plot",
        "curve.png",
        "--probe",
        "probe.json",
        "--second",
        router.endpoint,
    ]
    result = cactus("calibrate", "data.jsonl", "--precision", "0.99", *flags)
    head, *table = result.stdout.splitlines()
    assert head == "60 answers, 66.7% right (second service 66.7%)"
    (entropy,) = (line.split() for line in table if line.startswith("entropy "))
    assert " ".join(entropy) == "entropy 1.000 0.26 33.3% 100.0% 91.2-100.0% 40 of 40 66.7%"
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert read_probe(tmp_path / "probe.json").entropy_mean < 0
    submits = router.received_of(Submit)
    assert {(submit.options.allow_cloud, submit.options.temperature) for submit in submits} == {(False, 0.0)}
    report = json.loads(cactus("calibrate", "data.jsonl", "--cloud-share", "0.1", "--json").stdout)
    assert (report["num_answers"], report["second_accuracy"]) == (60, None)
    assert all(signal["cut"]["handed_off"] <= 0.1 for signal in report["signals"] if signal["cut"])
    both = cactus("calibrate", "data.jsonl", "--cloud-share", "0.1", "--precision", "0.5")
    assert (both.exit_code, "not both" in both.stderr) == (2, True)


def test_calibrate_asks_nothing_for_a_plot_that_cannot_be_drawn(
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


def test_calibrate_prints_its_table_before_it_says_that_a_probe_needs_more_answers(
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


def test_status_and_scale(cactus: Callable[..., typer.testing.Result]) -> None:
    assert "scripted · serving" in cactus("status").stdout
    assert json.loads(cactus("status", "--json").stdout)["jobs"]["accepted"] == 0
    told = cactus("scale", "4").stdout
    assert told.startswith("4 workers desired: 0 of 4 workers, 4 to come (")
    assert json.loads(cactus("scale", "1", "--json").stdout) == {"num_workers": 1, "num_running": 0}
    for wrong in ("-1", "many"):
        refused = cactus("scale", wrong)
        assert (refused.exit_code, f"0 or more, not {wrong}" in refused.stderr) == (2, True)
    assert "no option --now" in cactus("scale", "--now").stderr


def test_workers_stand_in_natural_order() -> None:
    names = ["worker-10", "cloud", "worker-2", "worker-1b", "7", "worker-1"]
    assert sorted(names, key=natural_order) == [
        "7",
        "cloud",
        "worker-1",
        "worker-1b",
        "worker-2",
        "worker-10",
    ]


def test_models(cactus: Callable[..., typer.testing.Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    folder = tmp_path / "hub" / "models--owner--a-model"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("0" * 40)
    (folder / "snapshots" / ("0" * 40)).mkdir(parents=True)
    (folder / "snapshots" / ("0" * 40) / "m.gguf").write_bytes(bytes(2_500_000))

    report = json.loads(cactus("models", "--json").stdout)
    assert [model["name"] for model in report["embedded"]] == list(list_models())
    [cached] = report["cached"]
    assert (cached["name"], cached["bytes"]) == ("owner/a-model:m.gguf", 2_500_000)
    assert cached["path"] == str(folder / "snapshots" / ("0" * 40) / "m.gguf")
    [llama] = [family for family in report["families"] if family["name"] == "Llama"]
    assert "LlamaForCausalLM" in llama["architectures"]
    assert "llama" in llama["gguf_architectures"]

    lines = [" ".join(line.split()) for line in cactus("models").stdout.splitlines()]
    assert "owner/a-model:m.gguf 2.5 MB" in lines
    assert any(re.fullmatch(r"cactus-sprout [\d.]+ MB", line) for line in lines)
    for family in FAMILIES:
        names = (family.name, *family.architectures, *family.gguf_architectures, family.examples)
        assert any(all(name in line for name in names) for line in lines), family.name
    (folder / "refs" / "main").unlink()
    assert "in the cache of the hub: none" in cactus("models").stdout


def test_auth_keeps_a_key_that_nobody_else_reads(cactus: Callable[..., typer.testing.Result], tmp_path: Path) -> None:
    assert cactus("auth", "--show").stdout.startswith("no key")
    stored = cactus("auth", input="sk-abcdefghijklmnop\n")
    assert "sk-abcdefghijklmnop" not in stored.output
    assert "the key goes to api.openai.com (https://api.openai.com/v1" in stored.stderr
    path = tmp_path / "home" / "credentials.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert cactus("auth", "--show").stdout == "19 characters\n"
    (tmp_path / "c.toml").write_text('[handoff]\nbase_url = "https://api.mistral.ai/v1"\nmodel = "m"\n')
    told = cactus("auth", "--config", "c.toml", input="sk-abcdefghijklmnopqrst\n").stderr
    assert told.startswith("the key goes to api.mistral.ai (https://api.mistral.ai/v1, asked for the model m)")
    assert cactus("auth", "--show").stdout == "…qrst (23 characters)\n"
    (tmp_path / "c.toml").write_text('[handoff]\nbase_url = "http://cloud.example/v1"\n')
    assert (
        "\nwarning: [handoff] base_url http://cloud.example/v1 has no TLS"
        in cactus("auth", "--config", "c.toml", input="sk-abcdefghijklmnopqrst\n").stderr
    )
    assert "forgotten" in cactus("auth", "--forget").stdout
    assert not path.exists()
    for nothing in ("\n", ""):
        with pytest.raises(ConfigurationInvalid, match="no key was given"):
            cactus("auth", input=nothing)


@pytest.mark.parametrize("command", ["auth", "serve"])
def test_a_wrong_handoff_section_is_told_with_its_file(
    cactus: Callable[..., typer.testing.Result], tmp_path: Path, command: str
) -> None:
    (tmp_path / "c.toml").write_text("[[handoff.budgets]]\nmax_cost = 1.0\n")
    words = r"^c\.toml: a handoff budget with max_cost needs prompt_price and completion_price$"
    with pytest.raises(ConfigurationInvalid, match=words):
        cactus(command, "--config", "c.toml", input="sk-abcdefghijklmnopqrst\n")


def test_bench_of_a_service(cactus: Callable[..., typer.testing.Result], router: ScriptedRouter) -> None:
    flags = f"--endpoint {router.endpoint} --stream-endpoint {router.stream_endpoint}"
    result = cactus("bench", *flags.split(), "--concurrency", "4", "--requests", "12", "--json")
    record = json.loads(result.stdout)
    assert (record["requests"], record["failed"], record["output_tokens"]) == (12, 0, 60)
    assert 0 < record["ttft_ms_p50"] <= record["ttft_ms_p99"]
    assert 0 < record["inter_token_ms_p50"] <= record["inter_token_ms_p99"] <= record["request_ms_p99"]
    with pytest.raises(ConfigurationInvalid, match="--model"):
        cactus("bench", *flags.split(), "--model", "m")


def test_bench_of_the_engine(cactus: Callable[..., typer.testing.Result]) -> None:
    shape = "llama:hidden=32,ffn=64,layers=1,heads=2,kv_heads=1,head_dim=16,vocab=64"
    flags = f"--random {shape} --weights float32 --batch 1,2 --prompt-tokens 8 --decode-tokens 4"
    records = [json.loads(line) for line in cactus("bench", *flags.split(), "--json").stdout.splitlines()]
    assert [record["batch"] for record in records] == [1, 2]
    for record in records:
        assert record["prefill_tokens_per_second"] > 0
        assert record["decode_tokens_per_second"] > 0
        assert record["step_ms_p50"] > 0
        assert record["resident_mb"] > 0
    with pytest.raises(ConfigurationInvalid, match="--batch"):
        cactus("bench", "--batch", "1,zero")


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [([], 50, 0.0), ([7.0], 99, 7.0), ([1.0, 2.0, 3.0], 50, 2.0), ([0.0, 100.0], 99, 99.0)],
)
def test_percentile(values: list[float], percent: int, expected: float) -> None:
    assert percentile(values, percent) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidRequest("x"), 2),
        (ModelFileInvalid("x"), 2),
        (Unavailable("x"), 69),
        (Overloaded("x"), 69),
        (ModelFailure("x"), 1),
    ],
)
def test_exit_codes(error: Exception, code: int) -> None:
    assert exit_code(error) == code  # type: ignore[arg-type]


def test_an_error_is_one_line_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["cactus", "status", "--endpoint", "nonsense"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert re.fullmatch(r"error: 'nonsense' is not tcp://HOST:PORT.*\n", output.err)


def test_error_lines_of_real_processes(tmp_path: Path) -> None:
    nowhere = {"CACTUS_ENDPOINT": "tcp://127.0.0.1:9"}
    for code, arguments in (
        (69, ["status"]),
        (66, ["batch", str(tmp_path / "missing.jsonl"), "-o", str(tmp_path / "out.jsonl")]),
        (2, ["complete", "hi", "--raw", "--system", "x"]),
    ):
        returncode, stdout, stderr = run_main(*arguments, environment=nowhere)
        assert (returncode, stdout) == (code, "")
        assert re.fullmatch(r"error: [^\n]+\n", stderr)


def test_a_disk_that_takes_no_more_is_exit_code_74(router: ScriptedRouter, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("".join(f"prompt {number}\n" for number in range(40)))
    arguments = ["batch", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.jsonl"), "--resume"]
    endpoints = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    limited = subprocess.run(
        [sys.executable, "-m", "cactus_actors.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | endpoints,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    assert limited.returncode == 74
    *_, so_far, error = limited.stderr.splitlines()
    assert re.fullmatch(r"[1-9]\d* of 40 lines are done; the same command with --resume continues", so_far)
    assert re.fullmatch(r"error: .*out\.jsonl\.partial: File too large after \d+ bytes", error)
    returncode, stdout, _ = run_main(*arguments, environment=endpoints)
    assert returncode == 0
    assert re.match(r"40 of 40 lines done .*, [1-9]\d* of them before", stdout)


def test_help_starts_fast_and_loads_no_heavy_module() -> None:
    script = (
        "import sys; from cactus_actors.cli.main import app\n"
        "heavy = {'ray', 'numba', 'numpy', 'tokenizers', 'rich.progress', 'huggingface_hub'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert loaded.stdout == "[]\n", loaded.stderr

"""Commands with a scripted router: help, status, models, keys and the benchmark."""

from __future__ import annotations

import importlib.metadata
import json
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.testing
from huggingface_hub import constants

from cactus_actors.batch import BatchProgress, Reason
from cactus_actors.cli.batch_progress import ProgressLog, show_reasons
from cactus_actors.cli.bench_service import percentile
from cactus_actors.cli.main import app
from cactus_actors.cli.terminal import natural_order
from cactus_actors.models.catalog import list_models
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.families.registry import FAMILIES
from tests.support.router.scripted_router import ScriptedRouter
from tests.support.text.read_integers import inexact_integers


def command_names(group: Any, *path: str) -> Iterator[str]:
    """The commands of a group and of its groups, each with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from command_names(command, *path, name)
        else:
            yield " ".join([*path, name])


COMMANDS = tuple(command_names(typer.main.get_command(app)))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(cactus: Callable[..., typer.testing.Result], command: str) -> None:
    result = cactus(*command.split(), "--help")
    assert result.exit_code == 0
    assert cactus(*command.split(), "-h").stdout == result.stdout
    assert re.search(rf"^Examples\n  cactus {command}\b", result.stdout, re.MULTILINE)


@pytest.mark.parametrize("command", ["", "keys", "lora", *COMMANDS])
def test_help_fits_a_terminal_of_80_columns_and_cuts_no_word(
    cactus: Callable[..., typer.testing.Result], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = cactus(*command.split(), "--help").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown, shown
    assert not re.search(r"[<>]|default[: ]*\(", shown.replace("auth < key.txt", "")), shown
    assert re.search(r"^  -h, --help +Show this message and exit\.$", shown, re.MULTILINE)


@pytest.mark.parametrize("width", [60, 160])
def test_help_has_the_width_of_the_terminal(
    cactus: Callable[..., typer.testing.Result], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = cactus("batch", "--help").stdout.splitlines()
    assert width - 15 < max(map(len, lines)) <= width
    joined = " ".join(" ".join(line.removesuffix("\\").split()) for line in lines)
    assert "--prompt-template 'Summarise: {{ text }}'" in joined


def test_help_shows_flags_values_ranges_and_defaults(cactus: Callable[..., typer.testing.Result]) -> None:
    serve = " ".join(cactus("serve", "-h").stdout.split())
    for entry in (
        "--weights float32|bfloat16|int8|int4 Format of the weights in memory. (default int8)",
        "--threads INTEGER Threads of each worker. (at least 1; default 1)",
        "--journal, --no-journal Keep accepted jobs on disk, so that they survive a restart. (default --journal)",
        "--no-http Serve without the HTTP gateway.",
    ):
        assert entry in serve
    assert "Usage: cactus scale [OPTIONS] N|auto\n" in cactus("scale", "-h").stdout
    assert "(default tcp://127.0.0.1:5555; or CACTUS_ENDPOINT)" in " ".join(cactus("scale", "-h").stdout.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("serve --weights int3", "'--weights': it must be one of float32, bfloat16, int8, int4"),
        ("serve --placement here", "'--placement': it must be one of local, ray"),
        ("serve --threads 0", "'--threads': it must be an integer, at least 1"),
        ("calibrate x.jsonl --cloud-share nan", "'--cloud-share': it must be a number, 0 to 1"),
        ("complete x --temperature nan", "'--temperature': it must be a number"),
        ("serve --workers many", "'--workers': workers must be a number or LEAST:MOST, such as 1:16, not 'many'"),
        ("complete hi --temperature hot", "'--temperature': it must be a number"),
        ("calibrate x --precision 2", "'--precision': it must be a number, 0 to 1"),
        ("keys new bob --role boss", "'--role': it must be one of client, worker, operator"),
        ("scale 999999999999999999999", "'N|auto': a model has at most 256 workers"),
        ("scale many", "'N|auto': give a number of workers, 0 or more, or auto, not many"),
    ],
)
def test_an_invalid_value_is_explained(cactus: Callable[..., typer.testing.Result], arguments: str, words: str) -> None:
    result = cactus(*arguments.split())
    assert result.exit_code == 2
    assert f"Invalid value for {words}" in " ".join(re.sub("[│╭╮╰╯─]", " ", result.stderr).split())


def test_quantize_prints_only_the_path_on_stdout(
    cactus: Callable[..., typer.testing.Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path / "cache"))
    for did in ("packed in", "packed already"):
        result = cactus("quantize", "--weights", "int8")
        assert (result.exit_code, Path(result.stdout.removesuffix("\n")).is_file()) == (0, True)
        assert re.fullmatch(rf"[0-9.]+ MB int8, {did}.*\n", result.stderr)


def test_reasons_of_failed_lines_are_not_cut_at_80_columns(
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
    assert shown.splitlines() == [line.rstrip() for line in shown.splitlines()]
    assert shown.endswith("\n    it broke\n")
    assert " ".join(shown.split()) == (
        "12 lines failed with invalid_request_error (messages[0].content), the first is line 3: "
        f"{message}1 line failed with server_error: it broke"
    )


def test_version_and_help_are_printed(cactus: Callable[..., typer.testing.Result]) -> None:
    assert cactus("--version").stdout == f"cactus-actors {importlib.metadata.version('cactus-actors')}\n"
    assert "small language models" in cactus("-h").stdout


def test_batch_writes_results_and_prints_a_summary(cactus: Callable[..., typer.testing.Result], tmp_path: Path) -> None:
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


def test_the_progress_of_a_prompt_file_is_logged_periodically() -> None:
    log = ProgressLog("in.txt")
    progress = BatchProgress(
        num_lines=1000, num_succeeded=200, num_failed=0, num_resumed=200, completion_tokens=0, started=50.0
    )
    assert log.line(progress, 50.0) == "in.txt: 200 of 1000 lines"
    progress.num_succeeded, progress.num_failed, progress.completion_tokens = 390, 10, 5000
    assert log.line(progress, 59.9) is None
    assert log.line(progress, 60.0) == "in.txt: 400 of 1000 lines, 10 failed, 5000 tokens, 500 tokens/s, 30 s left"
    assert log.line(progress, 60.1) is None
    assert log.line(progress, 450.0) == "in.txt: 400 of 1000 lines, 10 failed, 5000 tokens, 12 tokens/s, 20 min left"


def test_status_and_scale_print_text_and_json(cactus: Callable[..., typer.testing.Result]) -> None:
    assert "scripted · serving" in cactus("status").stdout
    assert json.loads(cactus("status", "--json").stdout)["jobs"]["accepted"] == 0
    told = cactus("scale", "4").stdout
    assert told.startswith("4 workers desired: 0 of 4 workers, 4 to come (")
    assert json.loads(cactus("scale", "1", "--json").stdout) == {"num_workers": 1, "num_running": 0}
    for wrong in ("-1", "many"):
        refused = cactus("scale", wrong)
        plain = " ".join(re.sub("[│╭╮╰╯─]", " ", refused.stderr).split())
        assert (refused.exit_code, f"or auto, not {wrong}" in plain) == (2, True)
    assert "no option --now" in cactus("scale", "--now").stderr


def test_workers_are_listed_in_natural_order() -> None:
    names = ["worker-10", "cloud", "worker-2", "worker-1b", "7", "worker-1"]
    assert sorted(names, key=natural_order) == [
        "7",
        "cloud",
        "worker-1",
        "worker-1b",
        "worker-2",
        "worker-10",
    ]


def test_models_lists_cached_models(
    cactus: Callable[..., typer.testing.Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_auth_stores_a_key_in_a_private_file(cactus: Callable[..., typer.testing.Result], tmp_path: Path) -> None:
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
    assert "was removed" in cactus("auth", "--forget").stdout
    assert not path.exists()
    for nothing in ("\n", ""):
        with pytest.raises(ConfigurationInvalid, match="no key was given"):
            cactus("auth", input=nothing)


@pytest.mark.parametrize("command", ["auth", "serve"])
def test_an_invalid_handoff_section_is_reported_with_its_file(
    cactus: Callable[..., typer.testing.Result], tmp_path: Path, command: str
) -> None:
    (tmp_path / "c.toml").write_text("[[handoff.budgets]]\nmax_cost = 1.0\n")
    words = r"^c\.toml: a handoff budget with max_cost needs prompt_price and completion_price$"
    with pytest.raises(ConfigurationInvalid, match=words):
        cactus(command, "--config", "c.toml", input="sk-abcdefghijklmnopqrst\n")


def test_bench_measures_a_service(cactus: Callable[..., typer.testing.Result], router: ScriptedRouter) -> None:
    flags = f"--endpoint {router.endpoint} --stream-endpoint {router.stream_endpoint}"
    result = cactus("bench", *flags.split(), "--concurrency", "4", "--requests", "12", "--json")
    record = json.loads(result.stdout)
    assert (record["requests"], record["failed"], record["output_tokens"]) == (12, 0, 60)
    assert 0 < record["ttft_ms_p50"] <= record["ttft_ms_p99"]
    assert 0 < record["inter_token_ms_p50"] <= record["inter_token_ms_p99"] <= record["request_ms_p99"]
    with pytest.raises(ConfigurationInvalid, match="--model"):
        cactus("bench", *flags.split(), "--model", "m")


def test_bench_measures_the_engine(cactus: Callable[..., typer.testing.Result]) -> None:
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
def test_percentile_interpolates(values: list[float], percent: int, expected: float) -> None:
    assert percentile(values, percent) == pytest.approx(expected)

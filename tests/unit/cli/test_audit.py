"""`cactus audit` as users type it, on the files that a service has written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from cactus_actors.cli.main import app
from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.audits.audit_files import AuditFiles, AuditLabel, UnjudgedAnswer, audit_directory
from cactus_actors.handoff.audits.audit_ledger import AuditLedger
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.results import ToolCall

CHAT: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who is\nhe?"}]


def run(state_dir: Path, *words: str, input: str = "") -> Result:
    done = CliRunner().invoke(app, ["audit", *words, "--state-dir", str(state_dir)], input=input)
    if isinstance(done.exception, ConfigurationInvalid):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture
def files(tmp_path: Path) -> AuditFiles:
    """Five audits: two right, three to be judged."""
    files = AuditFiles(audit_directory(tmp_path))
    ledger = AuditLedger(HandoffSettings(), None, print)
    for verdict, question in (
        ("right", ""),
        ("unjudged", "Capital?"),
        ("right", ""),
        ("unjudged", CHAT),
        ("unjudged", "Egg"),
    ):
        if verdict == "unjudged":
            files.add_unjudged(
                UnjudgedAnswer(
                    id=ledger.next_id,
                    time=1.5,
                    question=question,
                    answer="Rome" if question != "Egg" else "",
                    calls=[] if question != "Egg" else [ToolCall("timer", {"minutes": 5})],
                    cloud_answer="Paris " * 100,
                    model="big",
                )
            )
        ledger.add(verdict, 0.9)  # type: ignore[arg-type]
    files.write_state(ledger.state)
    return files


def test_without_audits_there_is_a_hint_and_nothing_to_reset(tmp_path: Path) -> None:
    told = run(tmp_path).output
    assert told.startswith(f"no audits in {tmp_path}; `audit_share` in [handoff]")
    assert "--state-dir" in told
    with pytest.raises(ConfigurationInvalid, match=f"{tmp_path} has no audits; --state-dir"):
        run(tmp_path, "--reset")
    assert json.loads(run(tmp_path, "--json").output) == {"audits": [], "answers": []}
    assert list(tmp_path.iterdir()) == []


def test_a_state_directory_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="nowhere is no directory"):
        run(tmp_path / "nowhere")


def test_answers_are_listed(files: AuditFiles, tmp_path: Path) -> None:
    summary, headings, *rows = run(tmp_path).output.splitlines()
    assert summary == "2 audits judged: 2 right, 0 wrong; 3 answers to be judged"
    assert headings.split() == ["id", "question", "the", "service", "the", "second", "model"]
    assert [row.split()[0] for row in rows] == ["2", "4", "5"]
    assert "Who is he?" in rows[1]
    assert '"minutes":5' in rows[2]


def test_json_has_the_counts_the_drift_and_the_answers(files: AuditFiles, tmp_path: Path) -> None:
    def told() -> Any:
        return json.loads(run(tmp_path, "--json").output)

    assert [answer["id"] for answer in told()["answers"]] == [2, 4, 5]
    assert told()["answers"][1]["question"] == CHAT
    counts = {"tier": "", "right": 2, "wrong": 0, "failed": 0, "skipped": 0, "waiting": 3}
    steady = {"has_drifted": False, "drifts": 0, "tightened": 0, "min_threshold": 0.0}
    assert told()["audits"] == [counts | steady]
    state = files.read_state()
    assert state is not None
    changed = {"has_drifted": True, "drifts": 2, "step": 3, "min_threshold": 0.75}
    tier = msgspec.structs.replace(AuditLedger(HandoffSettings(), None, print, "sprout").state, **changed)
    files.write_state(msgspec.structs.replace(state, tiers={"sprout": tier}))
    assert [summary["has_drifted"] for summary in told()["audits"]] == [False, True]
    drifted = {"tier": "sprout", "waiting": 0, "drifts": 2, "tightened": 3, "min_threshold": 0.75}
    assert told()["audits"][1] == told()["audits"][1] | drifted


def test_a_label_is_given_once(files: AuditFiles, tmp_path: Path) -> None:
    assert run(tmp_path, "--label", "4", "wrong").output == "4: wrong\n"
    assert files.labels() == [AuditLabel(4, "wrong")]
    assert "2 answers to be judged" in run(tmp_path).output
    with pytest.raises(ConfigurationInvalid, match="no answer 4 waits"):
        run(tmp_path, "--label", "4", "right")
    with pytest.raises(ConfigurationInvalid, match="one of right, wrong, skip, not 'yes'"):
        run(tmp_path, "--label", "2", "yes")
    with pytest.raises(ConfigurationInvalid, match="exclude each other"):
        run(tmp_path, "--label", "2", "right", "--ask")
    assert len(files.labels()) == 1


def test_an_answer_of_a_cascade_has_the_name_of_its_model(files: AuditFiles, tmp_path: Path) -> None:
    state = files.read_state()
    assert state is not None
    tier = AuditLedger(HandoffSettings(), None, print, "owner/sprout")
    files.add_unjudged(
        UnjudgedAnswer(
            id=4, time=1.5, question="Capital?", answer="x", cloud_answer="y", model="big", tier="owner/sprout"
        )
    )
    tier.add("wrong", 0.5)
    files.write_state(msgspec.structs.replace(state, tiers={"owner/sprout": tier.state}))
    first, second, _, *rows = run(tmp_path).output.splitlines()
    assert first == "2 audits judged: 2 right, 0 wrong; 3 answers to be judged"
    assert second == "owner/sprout: 1 audit judged: 0 right, 1 wrong; 1 answer to be judged"
    assert rows[-1].split()[0] == "owner/sprout:4"
    assert run(tmp_path, "--label", "owner/sprout:4", "wrong").output == "owner/sprout:4: wrong\n"
    assert files.labels() == [AuditLabel(4, "wrong", tier="owner/sprout")]
    assert run(tmp_path, "--label", "4", "right").output == "4: right\n"


def test_each_answer_is_asked_for_and_the_end_of_the_input_keeps_what_was_given(
    files: AuditFiles, tmp_path: Path
) -> None:
    told = run(tmp_path, "--ask", input="what?\nR\nskip\n").output
    assert "2 (1 of 3)" in told
    assert "question: Capital?" in told
    assert files.labels() == [AuditLabel(2, "right"), AuditLabel(4, "skip")]
    assert "no answer waits" in run(tmp_path, "--ask", input="w\n").output
    assert files.labels()[2:] == [AuditLabel(5, "wrong")]


def test_a_reset_is_left_to_the_service(files: AuditFiles, tmp_path: Path) -> None:
    assert run(tmp_path, "--reset").output == f"all audits in {tmp_path} begin anew\n"
    assert files.labels() == [AuditLabel(is_reset=True)]
    assert "0 answers to be judged" in run(tmp_path).output


def test_control_characters_of_answers_do_not_reach_the_table(tmp_path: Path) -> None:
    files = AuditFiles(audit_directory(tmp_path))
    ledger = AuditLedger(HandoffSettings(), None, print)
    answer = UnjudgedAnswer(id=1, time=1.0, question="\x1b[2Jq", answer="\x07", cloud_answer="[bold]b[/]", model="big")
    files.add_unjudged(answer)
    ledger.add("unjudged", 0.9)
    files.write_state(ledger.state)
    told = run(tmp_path).output
    assert "\x1b" not in told
    assert "\x07" not in told
    assert "[bold]b[/]" in told

"""An input that changes during a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cactus_actors.batch import BatchProgress
from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.batch.batch_request import BatchLimits
from cactus_actors.protocol.messages import Submit
from tests.support.router.batch_runs import records
from tests.support.router.scripted_router import ScriptedRouter


def append(content: bytes) -> bytes:
    return content + b'"appended"\n'


def modify_the_end(content: bytes) -> bytes:
    return content.replace(b"prompt 19", b"prompt XX")


def truncate(content: bytes) -> bytes:
    return content[: len(content) // 2]


@pytest.mark.parametrize("change", [append, modify_the_end, truncate])
@pytest.mark.parametrize("is_read_ahead", [True, False])
def test_an_input_that_changes_during_the_run_is_detected(
    run: Callable[..., BatchProgress],
    router: ScriptedRouter,
    source: Path,
    tmp_path: Path,
    change: Callable[[bytes], bytes],
    is_read_ahead: bool,
) -> None:
    """Only lines of the original input are answered, and the run continues once that input is restored."""
    limits = BatchLimits() if is_read_ahead else BatchLimits(max_ahead_bytes=1)
    original = source.read_bytes()

    def change_it(identity: bytes, submit: Submit) -> None:
        router.on_submit = on_submit  # type: ignore[method-assign]
        source.write_bytes(change(original))
        on_submit(identity, submit)

    on_submit, router.on_submit = router.on_submit, change_it  # type: ignore[method-assign]
    with pytest.raises(InputInvalid) as caught:
        run(max_in_flight=1, limits=limits)
    assert "input_changed" in caught.value.message or "not_text" in caught.value.message
    assert not (tmp_path / "out.jsonl").exists()
    asked = {submit.prompt for submit in router.received_of(Submit)}  # type: ignore[union-attr]
    assert asked <= {f"prompt {number}" for number in range(20)}
    source.write_bytes(original)
    assert run(resume=True).num_succeeded == 20
    answers = records(tmp_path / "out.jsonl")
    for number in range(20):
        text = answers[f"job-{number}"]["response"]["body"]["choices"][0]["text"]
        assert text.startswith(f"prompt {number} ")


@pytest.mark.parametrize("change", [Path.touch, Path.unlink])
def test_touching_or_removing_the_input_during_the_run_changes_nothing(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, change: Callable[[Path], None]
) -> None:
    def change_it(identity: bytes, submit: Submit) -> None:
        router.on_submit = on_submit  # type: ignore[method-assign]
        change(source)
        on_submit(identity, submit)

    on_submit, router.on_submit = router.on_submit, change_it  # type: ignore[method-assign]
    assert run().num_succeeded == 20

"""Lines that are plain strings, for models with a chat template and without one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cactus_actors.batch import BatchProgress
from cactus_actors.batch.batch_errors import OptionsChanged
from cactus_actors.protocol.errors import NotSupported
from cactus_actors.protocol.messages import Rejected, Submit
from tests.support.router.batch_runs import interrupted, records
from tests.support.router.scripted_router import ScriptedRouter


def plain_source(source: Path) -> None:
    source.write_text(
        '"plain"\n{"prompt": "written"}\n{"messages": [{"role": "user", "content": "asked"}]}\n"plain too"\n'
    )


def refuse_messages(router: ScriptedRouter) -> None:
    """Answer like a model without a chat template."""

    def refuse(identity: bytes, submit: Submit) -> None:
        if submit.messages is None:
            on_submit(identity, submit)
            return
        error = NotSupported("the model has no chat template; send a prompt instead", param="messages")
        router.reply(identity, Rejected(error=error.info(), job_id=submit.job_id))

    on_submit, router.on_submit = router.on_submit, refuse  # type: ignore[method-assign]


def objects(path: Path) -> dict[str, str]:
    return {name: line["response"]["body"]["object"] for name, line in records(path).items()}


def test_a_plain_line_is_a_user_message(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    plain_source(source)
    assert run().num_succeeded == 4
    asked = {submit.prompt or submit.messages[0].content for submit in router.received_of(Submit)}  # type: ignore[union-attr, index]
    assert asked == {"plain", "written", "asked", "plain too"}
    assert objects(tmp_path / "out.jsonl") == {
        "line-1": "chat.completion",
        "line-2": "text_completion",
        "line-3": "chat.completion",
        "line-4": "chat.completion",
    }


def test_a_plain_line_is_raw_for_a_model_without_a_chat_template(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    refuse_messages(router)
    plain_source(source)
    progress = run(max_in_flight=1)
    assert (progress.num_succeeded, progress.num_failed) == (3, 1)
    assert set(objects(tmp_path / "out.jsonl").values()) == {"text_completion"}
    assert records(tmp_path / "out.errors.jsonl")["line-3"]["error"]["param"] == "messages"
    # the first refusal is enough: one request for it, and the line that asks for a chat itself
    refused = [submit for submit in router.received_of(Submit) if submit.messages is not None]  # type: ignore[union-attr]
    assert len(refused) == 2


def test_many_plain_lines_at_once_are_all_raw_for_a_model_without_a_chat_template(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path
) -> None:
    refuse_messages(router)
    source.write_text("".join(f'"prompt {number}"\n' for number in range(30)))
    assert run().num_succeeded == 30


def test_a_resumed_raw_line_has_the_same_tokens(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    """Its job id, and so its seed, is the same with and without an earlier refusal."""
    refuse_messages(router)
    source.write_text("".join(f'"prompt {number}"\n' for number in range(6)))
    interrupted(run, router, after=3)
    before = {submit.prompt: submit.job_id for submit in router.received_of(Submit)}  # type: ignore[union-attr]
    router.received.clear()
    assert run(resume=True, max_in_flight=6).num_succeeded == 6
    again = {submit.prompt: submit.job_id for submit in router.received_of(Submit)}  # type: ignore[union-attr]
    begun = before.keys() & again.keys() - {None}
    assert begun
    assert all(before[prompt] == again[prompt] for prompt in begun)


def test_a_raw_run_uses_no_template_and_must_be_resumed_as_raw(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    plain_source(source)
    interrupted(lambda **changes: run(raw=True, **changes), router, after=1)
    with pytest.raises(OptionsChanged, match="--raw was given and is not given now"):
        run(resume=True)
    assert run(resume=True, raw=True).num_succeeded == 4
    assert objects(tmp_path / "out.jsonl")["line-4"] == "text_completion"

"""`cactus chat`: commands, typed and pasted input at a terminal, and unbroken words."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import typer.testing
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.cli.word_wrap import WordWrapper
from cactus_actors.protocol.errors import ModelNotFound, NotSupported
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.service_status import AdapterStatus
from tests.support.router.scripted_router import ScriptedRouter, until


@pytest.fixture
def chat(cactus: Callable[..., typer.testing.Result]) -> Callable[..., typer.testing.Result]:
    return lambda *lines: cactus("chat", input="".join(f"{line}\n" for line in lines))


def asked(router: ScriptedRouter) -> list[list[tuple[str, object]]]:
    """The conversations that were sent, as roles and contents."""
    return [[(turn.role, turn.content) for turn in submit.messages or []] for submit in router.submitted()]


def test_a_system_message_applies_to_later_turns(
    chat: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    result = chat("one", "/system Be brief.", "two", "/system", "/reset", "three")
    first, second, third = asked(router)
    assert first == [("user", "one")]
    assert second[0] == ("system", "Be brief.")
    assert [role for role, _ in second] == ["system", "user", "assistant", "user"]
    assert third == [("system", "Be brief."), ("user", "three")]
    assert result.stderr.count("system: Be brief.") == 2


def test_options_are_set_checked_and_reset(chat: Callable[..., typer.testing.Result], router: ScriptedRouter) -> None:
    result = chat("/set temperature 0.25", "/set max-tokens 3", "/set stop END", "a", "/set temperature", "/set", "b")
    first, second = [submit for submit in router.received_of(Submit) if isinstance(submit, Submit)]
    assert (first.options.temperature, first.options.max_tokens, first.options.stop) == (0.25, 3, "END")
    assert (second.options.temperature, second.options.max_tokens) == (None, 3)
    assert "options: max_tokens 3, stop END" in result.stderr
    assert "/help for commands" not in result.stderr  # stdin is not a terminal
    refused = chat("/set temperature 9", "/set temperature hot", "/set banana 1", "/set banana", "/set top-q 1", "c")
    assert refused.stderr.splitlines()[:5] == [
        "/set temperature: temperature must be between 0.0 and 2.0, got 9.0",
        "/set temperature: temperature must be a number, got 'hot'",
        "/set banana: unknown option 'banana'",
        "/set banana: unknown option 'banana'",
        "/set top_q: unknown option 'top_q'; did you mean 'top_p'?",
    ]
    last = router.received_of(Submit)[-1]
    assert isinstance(last, Submit)
    assert last.options.temperature is None


def test_a_missing_chat_template_is_reported_before_the_first_prompt(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    status = router.status
    router.status = lambda request_id: msgspec.structs.replace(  # type: ignore[method-assign]
        status(request_id), has_chat_template=False
    )
    with pytest.raises(NotSupported, match="the model scripted has no chat template"):
        cactus("chat", input="one\n")
    assert not router.received_of(Submit)


def test_all_turns_of_a_conversation_go_to_the_given_adapter(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    status, adapters = router.status, [AdapterStatus(name=name, path="") for name in ("poems", "sql")]
    router.status = lambda request_id: msgspec.structs.replace(  # type: ignore[method-assign]
        status(request_id), adapters=adapters
    )
    cactus("chat", "--lora", "poems", input="one\ntwo\n/set lora\nthree\n")
    assert [submit.options.lora for submit in router.submitted()] == ["poems", "poems", None]
    with pytest.raises(ModelNotFound, match="no adapter 'prose'; adapters of this service: poems, sql"):
        cactus("chat", "--lora", "prose", input="one\n")
    assert len(router.submitted()) == 3


def test_the_last_question_is_asked_again(chat: Callable[..., typer.testing.Result], router: ScriptedRouter) -> None:
    result = chat("/retry", "one", "two", "/retry")
    assert "nothing was asked yet" in result.stderr
    first, second, again = asked(router)
    assert second == again
    assert [content for _, content in first] == ["one"]


def test_a_conversation_is_saved_as_messages(
    chat: Callable[..., typer.testing.Result], router: ScriptedRouter, tmp_path: Path
) -> None:
    result = chat("/system Be brief.", "one", "/save talk.json", "/save talk.json", "/save", "/save no/where")
    saved = json.loads((tmp_path / "talk.json").read_text())
    assert [turn["role"] for turn in saved["messages"]] == ["system", "user", "assistant"]
    assert "File exists" in result.stderr
    assert "No such file" in result.stderr


def test_pasted_text_is_one_message_and_is_echoed(router: ScriptedRouter, tmp_path: Path) -> None:
    environment = os.environ | {
        "CACTUS_ENDPOINT": router.endpoint,
        "CACTUS_STREAM_ENDPOINT": router.stream_endpoint,
        "HOME": str(tmp_path),
        "TERM": "xterm",
    }
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cactus_actors.cli", "chat"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    told = bytearray()

    def num_prompts() -> int:
        """The number of prompts so far, counted by the requests for bracketed paste."""
        while select.select([ours], [], [], 0)[0]:
            piece = os.read(ours, 65536)
            if b"\x1b[6n" in piece:  # it asks for the position of the cursor
                os.write(ours, b"\x1b[1;1R")
            told.extend(piece)
        return told.count(b"\x1b[?2004h")

    try:
        until(lambda: num_prompts() == 1, 60)
        os.write(ours, b"\x1b[200~first line\nsecond line\x1b[201~\r")
        until(lambda: num_prompts() == 2, 60)
        os.write(ours, b"\x1b[A\r")  # the previous message
        until(lambda: num_prompts() == 3, 60)
        os.write(ours, b"\x03")
        until(lambda: num_prompts() == 4, 60)
        assert b"/exit or Ctrl-D leaves" in told
        os.write(ours, b"\x04")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert [conversation[-1] for conversation in asked(router)] == [("user", "first line\nsecond line")] * 2
    history = tmp_path / ".cactus" / "chat-history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "second line" in history.read_text()


words = st.text("ab cé漢 \n\t", max_size=60)


@given(st.lists(words, max_size=8), st.integers(1, 20))
def test_words_are_not_split(pieces: list[str], width: int) -> None:
    wrapper = WordWrapper(width)
    written = "".join(map(wrapper.add, pieces)) + wrapper.end()
    text = "".join(pieces)
    assert written.split() == text.split() or any(wide(word) >= width for word in text.split())
    assert "".join(written.split()) == "".join(text.split())
    for line in written.split("\n"):
        assert wide(line.rstrip()) <= width or len(line.split()) <= 1 or "\t" in line or wide(line) > width


@given(words, st.data())
def test_the_split_of_a_text_into_pieces_changes_no_line(text: str, data: st.DataObject) -> None:
    whole = WordWrapper(1000)
    cut = WordWrapper(1000)
    at = data.draw(st.integers(0, len(text)))
    assert whole.add(text) + whole.end() == cut.add(text[:at]) + cut.add(text[at:]) + cut.end() == text


def wide(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def test_input_typed_during_an_answer_does_not_appear_in_it() -> None:
    program = "import sys; from cactus_actors.cli.chat_input import unechoed\n"
    program += "with unechoed():\n    print('answering', flush=True)\n    line = input()\n"
    program += "print('read ' + line, flush=True)\nprint('again ' + input(), flush=True)\n"
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", program], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    told = bytearray()

    def shows(text: bytes) -> bool:
        if select.select([ours], [], [], 0.1)[0]:
            told.extend(os.read(ours, 65536))
        return text in told

    try:
        until(lambda: shows(b"answering"), 60)
        os.write(ours, b"secret\n")
        until(lambda: shows(b"read secret"), 60)
        os.write(ours, b"plain\n")
        until(lambda: shows(b"again plain"), 60)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert told.count(b"secret") == 1
    assert told.count(b"plain") == 2  # echoed again

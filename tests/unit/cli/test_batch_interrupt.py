"""The message of `cactus batch` at a signal begins a new line, not within the progress bar's line."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest

from cactus_actors.batch import BatchProgress
from cactus_actors.cli.batch_progress import shown_progress
from cactus_actors.cli.batch_run import print_how_to_resume

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal(io.TextIOWrapper):
    def __init__(self) -> None:
        self.screen = io.BytesIO()
        super().__init__(self.screen, encoding="utf-8", line_buffering=True)

    def isatty(self) -> bool:
        return True


def test_the_message_of_an_interrupt_begins_at_column_1(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with shown_progress("questions.txt", terminal) as show:
        show(BatchProgress(400, 100, 0, 0, completion_tokens=9, started=time.monotonic() - 1))
        print_how_to_resume()
    lines = re.split(r"[\r\n]", ESCAPE.sub("", terminal.screen.getvalue().decode()))
    assert any("questions.txt" in line for line in lines)
    [told] = [line for line in lines if "interrupted" in line]
    assert told.startswith("interrupted: cancelling")


def test_the_message_of_an_interrupt_has_no_colour_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    print_how_to_resume()
    shown = capsys.readouterr().err
    assert shown.startswith("interrupted: cancelling")
    assert "\x1b" not in shown

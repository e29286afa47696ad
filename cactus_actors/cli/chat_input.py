"""Reads messages: with editing and history at a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import typer

from cactus_actors.cli.terminal import show
from cactus_actors.config import DEFAULT_STATE_DIR
from cactus_actors.process.private_directories import make_private

HISTORY_FILE = "chat-history"
ReadLine = Callable[[], str | None]


def reader(state_dir: Path | None = None) -> ReadLine:
    """Reads one message, None at the end of input; Ctrl-C clears the line.

    At a terminal several pasted lines are one message, and the history is a file that only its owner can read.
    """
    ask = _terminal_session(state_dir) if is_conversation() else input

    def read() -> str | None:
        while True:
            try:
                return ask()
            except KeyboardInterrupt:
                if is_conversation():
                    typer.secho("/exit or Ctrl-D leaves", dim=True, err=True)
                else:
                    show("\n")
            except EOFError:
                return None

    return read


def is_conversation() -> bool:
    """True if input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


@contextlib.contextmanager
def unechoed() -> Iterator[None]:
    """Hide keys typed during output; they are kept for the next prompt."""
    if not is_conversation():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    changed = termios.tcgetattr(sys.stdin)
    changed[3] &= ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, changed)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _terminal_session(state_dir: Path | None) -> Callable[[], str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory

    history: History = InMemoryHistory()
    path = (state_dir or DEFAULT_STATE_DIR).expanduser() / HISTORY_FILE
    with contextlib.suppress(OSError):
        make_private(path.parent)
        path.touch(mode=0o600)
        history = FileHistory(str(path))
    session: PromptSession[str] = PromptSession(history=history)
    return lambda: session.prompt("> ")

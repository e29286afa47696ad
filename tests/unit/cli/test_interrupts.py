"""Ctrl-C ends a command without a traceback, also while it imports modules."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from cactus_actors.cli.interrupts import Interrupted, raising_interrupted
from cactus_actors.process.delayed_signals import signals_delayed


@pytest.mark.parametrize("loaded", ["cactus_actors.config", "typer", "click.core", "msgspec"])
def test_an_interrupt_while_a_command_is_imported_prints_no_traceback(loaded: str) -> None:
    """`-X importtime` reports each import."""
    command = [sys.executable, "-X", "importtime", "-m", "cactus_actors.cli", "status"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    told = []
    for line in process.stderr:
        told.append(line)
        if line.split("|")[-1].strip() == loaded:
            break
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    told.append(rest)
    assert "Traceback" not in "".join(told)
    assert process.returncode in (130, 69)  # 69: it was done loading, and there is no service


def test_a_signal_waits_until_a_thread_has_started() -> None:
    steps = []

    def start() -> None:
        with raising_interrupted():
            with signals_delayed():
                signal.raise_signal(signal.SIGTERM)
                steps.append("started")
            steps.append("after")

    with pytest.raises(Interrupted):
        start()
    assert steps == ["started"]


def test_few_modules_are_imported_before_interrupts_are_handled() -> None:
    """The program's `main` handles Ctrl-C; before it runs, there is only Python's own startup."""
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "print(end='', flush=True); import cactus_actors.cli.__main__"],
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    ).stderr
    loaded = [line.split("|")[-1].strip() for line in shown.splitlines()]
    after_start = loaded[loaded.index("site") + 1 :]
    foreign = {name for name in after_start if not name.startswith(("cactus_actors", "importlib", "__future__"))}
    assert "cactus_actors.cli.__main__" in after_start
    assert foreign <= {"_abc", "abc", "_warnings", "warnings", "linecache"}, foreign  # the last one since Python 3.13

"""`cactus` commands as processes that start at once: forked from one that has imported everything."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

# One command at a time: {"arguments", "output", "dies_at"} in, its pid out, and at its end its wait status.
# With `dies_at` it is killed at its n-th call that changes a file, before it or half-way through it.
FORKER = """
import json, os, signal, sys
import cactus_actors.batch, cactus_actors.client, rich.console, rich.progress
from cactus_actors.cli.main import main

def die_at(limit):
    calls = 0
    def dying(name):
        original = getattr(os, name)
        def call(*arguments, **more):
            nonlocal calls
            calls += 1
            if calls == limit:
                if name in ("write", "pwrite"):
                    original(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2], *arguments[2:])
                os.kill(os.getpid(), 9)
            return original(*arguments, **more)
        setattr(os, name, call)
    for name in ("write", "pwrite", "ftruncate", "fsync", "rename", "replace", "unlink"):
        dying(name)

def run(arguments, output, dies_at):
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.argv = ["cactus", *arguments]
    if dies_at is not None:
        die_at(dies_at)
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

# a test run that was itself started in the background, or by nohup, hands down signals that are ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        run(**json.loads(line))
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


class ForkedCommands:
    """Runs commands one after the other, inside a `with` block."""

    def __init__(self, directory: Path) -> None:
        self._output = directory / "command-output"

    def __enter__(self) -> Self:
        self._forker = subprocess.Popen(
            [sys.executable, "-c", FORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._forker.pid, signal.SIGKILL)
        self._forker.wait()
        for pipe in (self._forker.stdin, self._forker.stdout):
            assert pipe is not None
            pipe.close()

    def start(self, *arguments: str, dies_at: int | None = None) -> ForkedCommand:
        assert self._forker.stdin is not None
        request = {"arguments": arguments, "output": str(self._output), "dies_at": dies_at}
        self._forker.stdin.write(json.dumps(request) + "\n")
        self._forker.stdin.flush()
        return ForkedCommand(self, self.read_number())

    def run(self, *arguments: str, dies_at: int | None = None) -> int:
        """The exit code; minus the signal's number for a killed one."""
        return self.start(*arguments, dies_at=dies_at).wait()

    def read_number(self) -> int:
        assert self._forker.stdout is not None
        return int(self._forker.stdout.readline())

    @property
    def output(self) -> str:
        """The standard output and error of the last command."""
        return self._output.read_text()


class ForkedCommand:
    """A running command; `wait` must be called once."""

    def __init__(self, commands: ForkedCommands, pid: int) -> None:
        self._commands = commands
        self.pid = pid

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill_and_wait(self) -> int:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(self.pid, signal.SIGKILL)
        return self.wait()

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(self._commands.read_number())

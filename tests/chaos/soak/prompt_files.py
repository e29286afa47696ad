"""Prompt files, one after the other, next to other load; a run that is interrupted is resumed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.chaos.soak.clients import NUM_REQUESTS, request
from tests.chaos.soak.history import History

DONE = (0, 1)  # 1: all lines were answered, some with an error
PAUSE_S = 0.5


class PromptFiles:
    """`cactus batch` over files of the same requests; `kill` ends the current run."""

    def __init__(self, directory: Path, jobs: str, stream: str, history: History) -> None:
        self._directory = directory
        self._options = ["--resume", "--endpoint", jobs, "--stream-endpoint", stream, "--max-in-flight", "4"]
        self._history = history
        self._process: asyncio.subprocess.Process | None = None
        self._lines = [
            {"custom_id": str(number), "prompt": prompt, **options}
            for number in range(NUM_REQUESTS)
            for prompt, options in [request(number)]
        ]
        self.is_finishing = False

    def kill(self) -> None:
        """Send SIGKILL to the current run."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def run(self) -> None:
        """Run file after file, and the last one to its end."""
        number = 0
        while not self.is_finishing:
            number += 1
            await self._run_file(number)

    async def _run_file(self, number: int) -> None:
        source, output = (self._directory / f"{number}.{kind}.jsonl" for kind in ("prompts", "results"))
        source.write_text("".join(json.dumps(line) + "\n" for line in self._lines))
        self._history.note("file", file=number, keys=[line["custom_id"] for line in self._lines])
        while await self._run_once(source, output) not in DONE:  # noqa: ASYNC110
            await asyncio.sleep(PAUSE_S)
        for line in _lines_of(output):
            text = line["response"]["body"]["choices"][0]["text"]
            self._history.note("line", file=number, key=line["custom_id"], text=text)
        for line in _lines_of(output.with_name(f"{output.stem}.errors.jsonl")):
            self._history.note("line", file=number, key=line["custom_id"], error=line["error"]["code"])

    async def _run_once(self, source: Path, output: Path) -> int:
        command = [sys.executable, "-m", "cactus_actors.cli.main", "batch", str(source), "-o", str(output)]
        with (self._directory / "batch.log").open("a") as log:
            self._process = await asyncio.create_subprocess_exec(*command, *self._options, stdout=log, stderr=log)
        try:
            return await self._process.wait()
        finally:
            self.kill()


def _lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

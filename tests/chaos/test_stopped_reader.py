"""A client process that is stopped while its jobs run."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

from cactus_actors.client import Client
from cactus_actors.protocol.totals import Totals
from tests.support.processes.separate_actors import Processes
from tests.support.router.echo_worker import EchoWorker
from tests.support.router.scripted_router import until

NUM_STREAMS, STREAM_TOKENS = 50, 4000
LETTERS = """
import sys
from cactus_actors.config import RouterSettings
from cactus_actors.router.actor import RouterActor
from tests.support.router.letter_model import LetterModel
jobs, stream, workers, *_ = sys.argv[1:]
settings = RouterSettings(jobs_endpoint=jobs, stream_endpoint=stream, workers_endpoint=workers)
router = RouterActor(settings, LetterModel())
router.start()
print("ready", flush=True)
router.run()
"""
READER = """
import asyncio, sys
from cactus_actors.client import AsyncClient
jobs, stream, num_streams, num_tokens = sys.argv[1:]
behind = {}

async def read(client, prompt):
    told = client.stream(prompt, max_tokens=int(num_tokens))
    tokens, text = [], ""
    async for delta in told:
        tokens += delta.token_ids
        text += delta.text
        behind[prompt] = int(num_tokens) - len(tokens)
    result = await told.result()
    assert (tokens, text) == (result.token_ids, result.text), "tokens were lost"
    return len(tokens)

async def when(is_so):
    async with asyncio.timeout(60.0):
        while not is_so():
            await asyncio.sleep(0.01)

async def main():
    async with AsyncClient(jobs, stream, timeout=90.0) as client:
        reading = [asyncio.create_task(read(client, f"story {n}")) for n in range(int(num_streams))]
        await when(lambda: len(behind) == len(reading))
        print("reading", flush=True)
        await when(lambda: all(left == 1 for left in behind.values()))
        print("caught up", flush=True)
        print(sum(await asyncio.gather(*reading)), flush=True)

asyncio.run(main())
"""


def test_a_stopped_client_gets_every_token_after_it_continues(tmp_path: Path) -> None:
    """No job ends before the client has caught up: only a replay can bring the tokens."""
    service = Processes(tmp_path, num_workers=0, router_program=LETTERS)
    command = [sys.executable, "-c", READER, service.jobs, service.stream]
    command += [str(NUM_STREAMS), str(STREAM_TOKENS)]
    may_end = threading.Event()
    worker = EchoWorker(service.workers_endpoint, step_s=0.0005, num_slots=NUM_STREAMS, may_end=may_end)
    try:
        with (
            worker,
            Client(service.jobs, service.stream, timeout=60.0) as client,
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader,
        ):
            assert reader.stdout is not None
            assert reader.stdout.readline() == "reading\n"
            reader.send_signal(signal.SIGSTOP)
            until(lambda: totals(client).generated_tokens == NUM_STREAMS * (STREAM_TOKENS - 1), 120.0)
            before = totals(client)
            reader.send_signal(signal.SIGCONT)
            assert reader.stdout.readline() == "caught up\n"
            replayed = totals(client).replayed_items - before.replayed_items
            may_end.set()
            assert reader.stdout.readline() == f"{NUM_STREAMS * STREAM_TOKENS}\n"
        assert reader.returncode == 0
        print(f"{replayed} tokens were asked for again")
        assert replayed > NUM_STREAMS * STREAM_TOKENS // 2
    finally:
        service.stop()


def totals(client: Client) -> Totals:
    totals = client.status(with_totals=True).totals
    assert totals is not None
    return totals

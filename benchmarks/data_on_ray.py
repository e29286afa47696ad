"""Tables in parts by actors with engines: `python -m benchmarks.data_on_ray --help`.

`rate` and `prefix` run one actor of the pipeline in this process, and compare processor time; `short` runs `cactus
batch --ray` on a cluster of four nodes on this machine; `kills` also kills an actor every few seconds, and after some
of them a node, in whose place comes another, and the command, which is run again. Both count each row.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks.engine_alone import MODEL, SEQUENCES, engine_alone
from cactus_actors.batch import BatchRequest
from cactus_actors.data.parts import parts_request
from cactus_actors.data.table_input import TableOptions
from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.options import Options
from cactus_actors.ray_data.part_actor import PartActor
from cactus_actors.ray_data.part_reading import FILE, OUTCOME, PartOutcome, PartReading
from cactus_actors.ray_data.places import EnginePlace
from cactus_actors.sdk.engine_choice import EngineChoice
from cactus_actors.text import load_text_model

NODES = 4
NUM_FILES = 8
SHORT_TOKENS = 4
MAX_PART_ROWS = 1000
CYCLE = 12  # kills; one of them takes a node along, one the command
WORDS = ("river", "stone", "cloud", "garden", "window", "market", "winter", "letter", "bridge", "forest", "candle")


def texts(num_words: int, num_rows: int, seed: int) -> list[str]:
    """Rows of random words, which share no beginning."""
    chosen = random.Random(seed)
    return [" ".join(chosen.choices(WORDS, k=num_words)) for _ in range(num_rows)]


class OneActor:
    """An actor of the pipeline in this process; its engine is warm after the first table."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._place = EnginePlace(EngineChoice(model=MODEL, max_sequences=SEQUENCES))
        self._num_tables = 0
        self._actor: PartActor | None = None

    def answer(self, rows: Sequence[str], options: Options) -> tuple[float, int]:
        """Processor seconds for a table of these rows, and the tokens of its answers."""
        self._num_tables += 1
        source = self._folder / f"in-{self._num_tables}.parquet"
        pq.write_table(pa.table({"prompt": rows}), source)
        wanted = TableOptions(inputs=[str(source)], output=f"{self._folder}/out-{self._num_tables}/")
        request = parts_request(wanted, BatchRequest(source=source, output=source, options=options), len(rows))
        with request.begun(request.manifest(MODEL)) as plan:
            self._actor = self._actor or PartActor(plan, self._place)
            self._actor.plan = plan
            began = time.process_time()
            num_tokens = 0
            for part in PartReading(plan, frozenset())({FILE: [0]}):
                outcome = msgspec.json.decode(self._actor(part)[OUTCOME][0], type=PartOutcome)
                assert outcome.record is not None, outcome.error
                assert not outcome.record.figures.num_failed, outcome.record.figures.reasons
                num_tokens += outcome.record.figures.completion_tokens
            return time.process_time() - began, num_tokens


def rate(num_rows: int, num_words: int, num_rounds: int, folder: Path) -> None:
    """Long rows: tokens a processor second of an actor beside those of the engine alone, which take turns."""
    options = Options(max_tokens=64, ignore_eos=True, temperature=0.0)
    actor = OneActor(folder)
    actor.answer(texts(num_words, SEQUENCES, 0), options)
    ratios = []
    for seed in range(1, num_rounds + 1):
        rows = texts(num_words, num_rows, seed)  # others in each round: none is in the prefix cache
        if seed % 2:
            own_s, _, own_tokens = engine_alone(rows, 64)
            its_s, its_tokens = actor.answer(rows, options)
        else:
            its_s, its_tokens = actor.answer(rows, options)
            own_s, _, own_tokens = engine_alone(rows, 64)
        assert own_tokens == its_tokens, (own_tokens, its_tokens)
        ratios.append(own_s / its_s)
        print(f"engine {own_tokens / own_s:.0f} tokens/s, actor {its_tokens / its_s:.0f}, {ratios[-1]:.3f} of it")
    low, high = min(ratios), max(ratios)
    print(f"{num_rounds} rounds of {num_rows} rows and {its_tokens} tokens: {statistics.median(ratios):.3f} of the")
    print(f"engine's own rate (median; {low:.3f} to {high:.3f})")


def prefix(num_rows: int, num_words: int, folder: Path) -> None:
    """Rows with a shared beginning: in order with the prefix cache, beside shuffled ones without it."""
    beginning = texts(num_words, 1, 2)[0]
    rows = [f"{beginning} {row}" for row in texts(6, num_rows, 3)]
    shuffled = random.Random(4).sample(rows, len(rows))
    cached, uncached = (
        Options(max_tokens=8, ignore_eos=True, temperature=0.0, cache_prompt=caches) for caches in (True, False)
    )
    actor = OneActor(folder)
    actor.answer(rows[:2], uncached)
    with_cache_s, _ = actor.answer(rows, cached)
    without_s, _ = actor.answer(shuffled, uncached)
    num_shared = len(load_text_model(resolve_model(MODEL)).tokenizer.encode(beginning, add_special=True))
    print(f"{num_rows} rows with {num_shared} tokens in common: {without_s:.1f} s of processor time shuffled, without")
    print(f"the cache, and {with_cache_s:.1f} s as the command runs them: {without_s / with_cache_s:.1f} times as fast")


def engines_own_rate(num_rows: int) -> float:
    """Rows a second of NODES engines at once, each in a process of its own, for as many short rows each."""
    pool = multiprocessing.get_context("spawn")
    barrier, rates = pool.Barrier(NODES), pool.SimpleQueue()
    processes = [pool.Process(target=_own_rate, args=(num_rows, barrier, rates)) for _ in range(NODES)]
    for process in processes:
        process.start()
    total = float(sum(rates.get() for _ in processes))
    for process in processes:
        process.join()
    return total


def _own_rate(num_rows: int, barrier: Any, rates: Any) -> None:
    engine_alone(short_rows(range(16)), SHORT_TOKENS)  # its kernels are loaded
    barrier.wait()
    began = time.monotonic()
    engine_alone(short_rows(range(num_rows)), SHORT_TOKENS)
    rates.put(num_rows / (time.monotonic() - began))


def short_rows(numbers: Iterable[int]) -> list[str]:
    """Questions of four or five tokens."""
    return [f"{number} + 1 =" for number in numbers]


def short(num_rows: int, folder: Path, kill_every_s: float | None = None) -> None:
    """Short rows over NODES nodes; prints the rate, and fails unless each row is there once."""
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_TMPDIR": str(folder)}
    from ray.cluster_utils import Cluster  # Ray reads the environment when it is imported

    per_file = -(-num_rows // NUM_FILES)
    for file in range(NUM_FILES):
        numbers = range(file * per_file, min(num_rows, (file + 1) * per_file))
        pq.write_table(pa.table({"prompt": short_rows(numbers), "id": numbers}), folder / f"in-{file}.parquet")
    head = {"num_cpus": 1, "include_dashboard": False, "temp_dir": str(folder / "ray")}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(NODES - 1)]
        command = [sys.executable, "-m", "cactus_actors.cli.main", "batch", f"{folder}/in-*.parquet"]
        command += ["-o", f"{folder}/out/", "--ray", cluster.address, "--engine", MODEL]
        part_rows = min(MAX_PART_ROWS, max(50, num_rows // 200))
        command += ["--max-tokens", str(SHORT_TOKENS), "--part-rows", str(part_rows), "--resume"]
        began, num_runs, num_killed = time.monotonic(), 0, 0
        while True:
            num_runs += 1
            with subprocess.Popen(command) as running:
                while kill_every_s and running.poll() is None:
                    time.sleep(kill_every_s)
                    if num_killed % CYCLE == 3:
                        cluster.remove_node(nodes.pop(0), allow_graceful=False)
                        nodes.append(cluster.add_node(num_cpus=1))
                    if num_killed % CYCLE == 6:
                        running.kill()
                    for pid in [*actors(token)][:1]:
                        os.kill(pid, signal.SIGKILL)
                    num_killed += 1
            if running.returncode == 0:
                break
            assert num_killed >= 6, "the command failed by itself"
        seconds = time.monotonic() - began
    finally:
        cluster.shutdown()  # type: ignore[no-untyped-call]
    table = ds.dataset(folder / "out", format="parquet").to_table()
    counts = Counter(table["id"].to_pylist())
    assert counts == Counter(range(num_rows)), "a row is missing or there twice"
    assert not table["error"].drop_null().to_pylist()
    own = engines_own_rate(max(200, num_rows // 20))
    print(f"{num_rows} rows, each once, after {num_killed} kills and {num_runs} starts, in {seconds:.0f} s:")
    print(f"{num_rows / seconds:.0f} rows/s with the start; {NODES} engines alone at once: {own:.0f} rows/s")


def actors(token: Path) -> Iterator[int]:
    """The processes that answer parts on the cluster with this token."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_actor = b"MapWorker(MapBatches(PartActor))" in (place / "cmdline").read_bytes()
            if is_actor and f"={token}\0".encode() in (place / "environ").read_bytes():
                yield int(place.name)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("rate", "prefix", "short", "kills"))
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=9, help="of `rate`")
    parser.add_argument("--kill-every", type=float, default=20.0, metavar="SECONDS", help="of `kills`")
    parser.add_argument("--words", type=int, default=600, help="words of a long row, or of the shared beginning")
    given: Any = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cactus-data-", ignore_cleanup_errors=True) as name:
        match given.what:
            case "rate":
                rate(given.rows, given.words, given.rounds, Path(name))
            case "prefix":
                prefix(given.rows, given.words, Path(name))
            case "short":
                short(given.rows, Path(name))
            case "kills":
                short(given.rows, Path(name), given.kill_every)


if __name__ == "__main__":
    main()

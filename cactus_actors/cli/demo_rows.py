"""The demo's table, answered by engines on a Ray cluster that grows from one node to three and loses one."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from cactus_actors.cli.demo_questions import write_questions
from cactus_actors.cli.interrupts import interruptible
from cactus_actors.cli.terminal import activity, counted
from cactus_actors.config_models import DEFAULT_MODEL
from cactus_actors.data import require_ray_data
from cactus_actors.protocol.errors import ServerFailure
from cactus_actors.protocol.options import Options

if TYPE_CHECKING:
    from rich.console import Console

    from cactus_actors.batch import BatchProgress
    from cactus_actors.batch.batch_request import Observer
    from cactus_actors.data.parts import PartsReport, PartsRequest
    from cactus_actors.placement.ray.growing_cluster import GrowingCluster

MAX_NODES = 3
ROWS_PER_PART = 250
LOOK_EVERY_S = 0.3
# Of hedges almost all are below it, of right answers almost none.
OPTIONS = Options(temperature=0.0, max_tokens=32, cloud_handoff_threshold=0.5)


@dataclass
class Course:
    """What happens during the run: `say` is told new numbers of nodes, and that one of them is killed."""

    num_rows: int
    say: Callable[[str], None]
    started_at: float = field(default_factory=time.monotonic)
    num_done: int = 0
    num_tokens: int = 0
    nodes: list[tuple[float, int]] = field(default_factory=list)
    has_killed: bool = False

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started_at

    def look_at(self, cluster: GrowingCluster) -> None:
        """Note a new number of nodes; once, when all are there and a quarter of the rows is done, kill one of them."""
        num_nodes = cluster.num_nodes
        if not self.nodes or self.nodes[-1][1] != num_nodes:
            self.nodes.append((self.seconds, num_nodes))
            self.say(f"{self.seconds:4.0f} s: {counted(num_nodes, 'node')}, {self.num_done:,} rows done")
        if not self.has_killed and num_nodes == MAX_NODES and 4 * self.num_done >= self.num_rows:
            self.has_killed = True
            self.say(f"{self.seconds:4.0f} s: a node is killed on purpose, {self.num_done:,} rows done")
            cluster.kill_added_node()


def show_rows(num_rows: int, state_dir: Path, output: Path, console: Console) -> None:
    """Answer a table of `num_rows` rows into the folder `output`, and print a summary.

    No process is left when it returns or raises. Raises ServerFailure if a row is missing or there twice, Interrupted
    after a signal, ConfigurationInvalid without the extras `data` and `ray`, and the errors of a start.
    """
    require_ray_data()
    questions = output.with_suffix(".parquet")
    num_different = write_questions(questions, num_rows)
    console.print(f"{num_rows:,} questions in {questions}, {num_different:,} of them different")
    from cactus_actors.placement.ray.ray_environment import prepare_environment

    prepare_environment(state_dir)  # before Ray is imported
    from cactus_actors.placement.ray.growing_cluster import GrowingCluster

    with activity(console, "starting a private Ray cluster of one node"):
        cluster = GrowingCluster(MAX_NODES, state_dir, console.print)
    console.print(f"a private Ray cluster of one node is up; it adds nodes for engines, up to {MAX_NODES} in all")
    with cluster:
        course = Course(num_rows, console.print)
        with _watched(course, cluster), _shown(course, console) as observe:
            report = asyncio.run(interruptible(_answered(_request(questions, output), cluster.address, observe)))
        seconds = course.seconds
    _summarise(course, report, seconds, output, console)


def _request(questions: Path, output: Path) -> PartsRequest:
    from cactus_actors.batch import BatchRequest
    from cactus_actors.data.parts import parts_request
    from cactus_actors.data.table_input import TableOptions

    shutil.rmtree(output, ignore_errors=True)
    options = TableOptions(inputs=[str(questions)], output=f"{output}/", template="{{ question }}")
    return parts_request(options, BatchRequest(source=questions, output=output, options=OPTIONS), ROWS_PER_PART)


async def _answered(request: PartsRequest, ray_address: str, observe: Observer) -> PartsReport:
    from cactus_actors.ray_data.places import EnginePlace, Pool
    from cactus_actors.ray_data.ray_run import answer_on_ray
    from cactus_actors.sdk.engine_choice import EngineChoice

    place = EnginePlace(EngineChoice(model=DEFAULT_MODEL, max_sequences=None))
    pool = Pool(place=place, max_actors=MAX_NODES)
    return await answer_on_ray(request, DEFAULT_MODEL, ray_address, pool, observe)


@contextlib.contextmanager
def _watched(course: Course, cluster: GrowingCluster) -> Iterator[None]:
    """Look at the nodes within the context, in a thread of its own."""
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(LOOK_EVERY_S):
            with contextlib.suppress(Exception):  # of a Ray that is ending
                course.look_at(cluster)

    watching = threading.Thread(target=watch, name="nodes of the demo")
    watching.start()
    try:
        yield
    finally:
        is_over.set()
        watching.join()


@contextlib.contextmanager
def _shown(course: Course, console: Console) -> Iterator[Observer]:
    """A bar; what it returns shows and notes the progress of the run."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("rows"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, redirect_stdout=False) as bar:
        task = bar.add_task("", total=course.num_rows)

        def observe(progress: BatchProgress, *_: object) -> None:
            course.num_done, course.num_tokens = progress.num_done, progress.completion_tokens
            bar.update(task, completed=course.num_done)

        yield observe
    if not console.is_terminal:
        console.line()  # Progress ends the last line of a terminal only


def _summarise(course: Course, report: PartsReport, seconds: float, output: Path, console: Console) -> None:
    import pyarrow.dataset as ds
    from rich.table import Table

    rows = ds.dataset(output, format="parquet").to_table(columns=["id", "kind", "confidence", "handoff_status"])
    if sorted(rows["id"].to_pylist()) != [*range(course.num_rows)]:
        raise ServerFailure(f"{output}: of {course.num_rows} rows some are missing or there twice")
    kinds: dict[str, list[tuple[float, bool]]] = {}
    for row in rows.to_pylist():
        is_below = row["handoff_status"] != "none"
        kinds.setdefault(row["kind"], []).append((row["confidence"], is_below))
    table = Table(show_header=False)
    table.add_row("rows", f"{len(rows):,} in {report.num_parts} parts, each once; {report.figures.num_failed} failed")
    table.add_row("rate", f"{len(rows) / seconds:.0f} rows/s, {course.num_tokens / seconds:.0f} tokens/s")
    table.add_row("nodes", ", ".join(f"{number} at {at_s:.0f} s" for at_s, number in course.nodes))
    for kind, found in sorted(kinds.items()):
        num_below = sum(is_below for _, is_below in found)
        confidence = median(confidence for confidence, _ in found)
        table.add_row(kind, f"{num_below:,} of {len(found):,} below the threshold, median confidence {confidence:.3f}")
    console.print(table)
    if not course.has_killed:
        console.print("no node was killed: the rows were answered before all nodes were there")
    console.print(f"answers in {output}/; those below the threshold would go to a larger model, with one at hand")

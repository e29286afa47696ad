"""Any order of answers, syncs, crashes and damage, compared with a model of the expected lines."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cactus_actors.batch.batch_journal import BatchJournal, BatchRun
from cactus_actors.batch.batch_output import BatchOutput, publish
from cactus_actors.batch.paths import BatchPaths
from tests.support.fuzzing.judging import fuzzed

RUN = BatchRun(run_id="0123", created=1, input_sha256="ab", num_lines=9, parameters={"form": "jsonl"})
NAMES = st.integers(0, 9).map(str)
LINE_BYTES = 31  # approximate size of an answer here
BYTES = st.tuples(st.integers(0, 2 * LINE_BYTES), st.integers(0, 2 * LINE_BYTES))


class PromptFileMachine(RuleBasedStateMachine):
    """The journal and the two result files of one run, as a resumed process finds them.

    `answers` are the lines given to the output, by file and in order, `num_safe` how many of each were on the
    disk. A crash keeps those, and any number of the bytes after them, the last of them as zeros.
    """

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.paths = BatchPaths(self.directory / "in.jsonl", self.directory / "out.jsonl")
        self.partials = (self.paths.partial_output, self.paths.partial_errors)
        self.answers: tuple[list[tuple[str, bytes]], ...] = ([], [])
        self.num_safe = [0, 0]
        self.num_made = 0

    @initialize()
    def begin(self) -> None:
        self.journal = BatchJournal(self.paths.journal)
        assert self.journal.read() == (None, False)
        self.journal.begin(RUN)
        self.output = BatchOutput(self.paths)

    @rule(names=st.lists(NAMES, min_size=1, unique=True), succeeded=st.booleans())
    def answer(self, names: list[str], succeeded: bool) -> None:
        for name in names:
            if self.output.has(name):
                continue
            self.num_made += 1
            line = json.dumps({"custom_id": name, "made": self.num_made}).encode()
            self.output.add(name, line, succeeded=succeeded)
            self.answers[not succeeded].append((name, line))

    @rule()
    def sync(self) -> None:
        self.output.sync()
        self.num_safe = [len(of_file) for of_file in self.answers]

    @rule(num_lost=BYTES, num_zeroed=BYTES)
    def crash(self, num_lost: tuple[int, int], num_zeroed: tuple[int, int]) -> None:
        self.leave()
        for number, path in enumerate(self.partials):
            safe = self.content(number, self.num_safe[number])
            doubtful = path.read_bytes()[len(safe) :]
            left = doubtful[: max(0, len(doubtful) - num_lost[number])]
            whole = left[: max(0, len(left) - num_zeroed[number])]
            path.write_bytes(safe + whole + bytes(len(left) - len(whole)))
            del self.answers[number][self.num_safe[number] + whole.count(b"\n") :]
        self.resume()

    @rule(number=st.integers(0, 1), place=st.integers(0, 4))
    def damage_a_line(self, number: int, place: int) -> None:
        self.leave()
        if place < len(self.answers[number]):
            lines = self.partials[number].read_bytes().splitlines(keepends=True)
            lines[place] = b"\xff" + lines[place][1:]
            self.partials[number].write_bytes(b"".join(lines))
            del self.answers[number][place]
        self.resume()

    @rule(number=st.integers(0, 1), place=st.integers(0, 4))
    def write_a_line_twice(self, number: int, place: int) -> None:
        self.leave()
        if place < len(self.answers[number]):
            with self.partials[number].open("ab") as file:
                file.write(self.answers[number][place][1] + b"\n")
        self.resume()

    @rule(torn=st.sampled_from([b'{"version', b"\0\0", b'{"complete":true}']))
    def crash_while_the_journal_is_written(self, torn: bytes) -> None:
        self.leave()
        with self.paths.journal.open("ab") as file:
            file.write(torn)
        self.resume()

    @precondition(lambda self: any(self.answers))
    @rule(is_published=st.booleans())
    def finish(self, is_published: bool) -> None:
        """The end of a run, which may die before the files are renamed; another run begins."""
        self.output.sync()
        self.journal.mark_complete()
        self.leave()
        journal = BatchJournal(self.paths.journal)
        assert journal.read()[1]
        if is_published:
            publish(self.paths)
        publish(self.paths)  # like a resumed run
        journal.close()
        assert self.paths.errors.exists() == bool(self.answers[1])  # a `none` entry belongs to no line
        for number, path in enumerate((self.paths.output, self.paths.errors)):
            if path.exists():
                assert path.read_bytes() == self.content(number)
            path.unlink(missing_ok=True)
        assert not any(path.exists() for path in self.partials)
        self.paths.journal.unlink()
        self.answers = ([], [])
        self.begin()

    @invariant()
    def each_line_is_done_once_or_not_at_all(self) -> None:
        if not hasattr(self, "output"):
            return
        done = [name for of_file in self.answers for name, _ in of_file]
        assert [name for name in map(str, range(10)) if self.output.has(name)] == sorted(done)
        assert (self.output.num_succeeded, self.output.num_failed) == tuple(map(len, self.answers))
        for number, path in enumerate(self.partials):
            assert path.read_bytes() == self.content(number)

    def leave(self) -> None:
        self.output.close()
        self.journal.close()

    def resume(self) -> None:
        self.journal = BatchJournal(self.paths.journal)
        begun, is_complete = self.journal.read()
        assert begun is not None
        begun.check_same(RUN, self.paths)
        assert not is_complete
        self.output = BatchOutput(self.paths)
        self.num_safe = [len(of_file) for of_file in self.answers]

    def content(self, number: int, length: int | None = None) -> bytes:
        return b"".join(line + b"\n" for _, line in self.answers[number][:length])

    def teardown(self) -> None:
        if hasattr(self, "output"):
            self.leave()
        shutil.rmtree(self.directory)


PromptFileMachine.TestCase.settings = fuzzed(25, derandomize=False, stateful_step_count=15)
TestPromptFileMachine = PromptFileMachine.TestCase

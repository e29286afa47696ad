"""What a second pass has on disk: its journal, and the outcomes of lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from cactus_actors.batch.custom_id_set import custom_id_hash
from cactus_actors.batch.left_lines import LeftLine
from cactus_actors.batch.paths import BatchPaths
from cactus_actors.batch.result_file import ResultFile
from cactus_actors.batch.second_pass.pass_journal import PassJournal
from cactus_actors.batch.second_pass.pass_outcomes import PassOutcome


@dataclass
class SecondPassProgress:
    """Of `num_lines`, `num_done` have an outcome on disk; the cloud has answered `num_ended` more in open batches."""

    num_lines: int = 0
    num_done: int = 0
    num_ended: int = 0
    num_batches: int = 0
    notice: str = ""


PassObserver = Callable[[SecondPassProgress], None]


class PassRecord:
    """Opened when it is made; the arguments but `paths` are those of the journal, which may refuse them."""

    def __init__(self, paths: BatchPaths, run_id: str, model: str = "") -> None:
        self._outcomes = ResultFile(paths.pass_answers)
        try:
            self.journal = PassJournal(paths.pass_journal, run_id, model)
        except BaseException:
            self._outcomes.close()
            raise

    @property
    def num_done(self) -> int:
        """The number of lines with an outcome."""
        return len(self._outcomes.done)

    def without_outcome(self, lines: Mapping[str, LeftLine]) -> dict[str, LeftLine]:
        """Those of the lines that have none yet."""
        done = self._outcomes.done
        return {custom_id: left for custom_id, left in lines.items() if custom_id_hash(custom_id) not in done}

    def add(self, outcome: PassOutcome) -> None:
        """Record an outcome, unless the line has one."""
        key = custom_id_hash(outcome.custom_id)
        if key not in self._outcomes.done:
            self._outcomes.append(msgspec.json.encode(outcome))
            self._outcomes.done.add(key)

    def sync(self) -> None:
        """Write every outcome to disk."""
        self._outcomes.sync()

    def close(self) -> None:
        """Close both files."""
        self.journal.close()
        self._outcomes.close()

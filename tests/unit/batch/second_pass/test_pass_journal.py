"""The journal of a second pass: what is in it after a kill at any byte, and which journals are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from cactus_actors.batch.batch_errors import OutputLocked, OutputRefused
from cactus_actors.batch.second_pass.pass_journal import Part, PassJournal


def parts(path: Path, run_id: str = "run") -> list[Part]:
    journal = PassJournal(path, run_id)
    journal.close()
    return list(journal.parts.values())


def test_a_kill_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = PassJournal(path, "run")
    sizes, states = [path.stat().st_size], [[]]  # type: list[int], list[list[Part]]

    def record() -> None:
        sizes.append(path.stat().st_size)
        states.append(parts(path.with_name("copy")) if path.with_name("copy").write_bytes(path.read_bytes()) else [])

    part = journal.begin(["a", "b"])
    record()
    journal.set_batch_id(part, "batch-1")
    record()
    journal.mark_done(part)
    record()
    journal.close()
    content = path.read_bytes()
    assert [(part.custom_ids, part.batch_id, part.is_done) for part in states[-1]] == [(["a", "b"], "batch-1", True)]
    for size in range(sizes[0], len(content) + 1):
        path.write_bytes(content[:size])
        known = max(index for index, at in enumerate(sizes) if at <= size)
        assert parts(path) == states[known]


def test_a_torn_line_is_replaced_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    PassJournal(path, "run").close()
    path.write_bytes(path.read_bytes() + b'{"mark":"torn')
    journal = PassJournal(path, "run")
    part = journal.begin(["a"])
    journal.close()
    assert parts(path) == [part]


def test_journals_of_other_runs_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = PassJournal(path, "run")
    with pytest.raises(OutputLocked):
        PassJournal(path, "run")
    journal.begin(["a"])
    journal.close()
    with pytest.raises(OutputRefused, match="of another run"):
        PassJournal(path, "other")
    content = path.read_bytes()
    for damaged in (content.replace(b"mark", b"nark"), content + b"{}\n", content + b'{"mark":"unknown"}\n'):
        path.write_bytes(damaged)
        with pytest.raises(OutputRefused, match="is damaged"):
            PassJournal(path, "run")

"""The files of a run: the valid part of a partial output, after any fault of the process and the disk."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.batch.batch_errors import OutputFailed, OutputLocked, OutputRefused
from cactus_actors.batch.batch_journal import BatchJournal, BatchRun
from cactus_actors.batch.custom_id_set import CustomIdSet, custom_id_hash
from cactus_actors.batch.result_file import ResultFile


def result(name: str) -> bytes:
    return json.dumps({"custom_id": name, "response": "x" * 20}).encode()


def written(path: Path, *names: str) -> bytes:
    path.write_bytes(b"".join(result(name) + b"\n" for name in names))
    return path.read_bytes()


def opened_and_closed(path: Path) -> CustomIdSet:
    file = ResultFile(path)
    file.close()
    return file.done


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 10)), st.lists(st.integers(0, 10)))
def test_a_custom_id_set_behaves_like_a_set(added: list[int], asked: list[int]) -> None:
    keys, expected = CustomIdSet(), set[int]()
    for key in added:
        assert keys.add(key) == (key not in expected)
        expected.add(key)
    assert len(keys) == len(expected)
    assert [key in keys for key in added + asked] == [key in expected for key in added + asked]


@pytest.mark.parametrize("damage", [b"\0\0\0\0\n", b"{}\n", b'{"custom_id":', b"\xff\n"])
def test_damage_in_the_middle_loses_only_the_damaged_lines(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "out.jsonl.partial"
    written(path, "a", "b", "c", "d")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = damage if damage.endswith(b"\n") else damage + lines[1]
    path.write_bytes(b"".join(lines))
    file = ResultFile(path)
    file.append(result("e"))
    file.close()
    assert path.read_bytes() == b"".join(result(name) + b"\n" for name in "acde")
    assert custom_id_hash("b") not in file.done
    assert [other.name for other in tmp_path.iterdir()] == [path.name]


def test_a_repeated_line_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.partial"
    written(path, "a", "b", "a", "c")
    assert len(opened_and_closed(path)) == 3
    assert path.read_bytes() == b"".join(result(name) + b"\n" for name in "abc")


def test_a_killed_repair_is_repeated(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.partial"
    written(path, "a", "a", "b")
    (tmp_path / "out.jsonl.partial.new").write_bytes(b"half of an earlier rep")
    assert len(opened_and_closed(path)) == 2
    assert path.read_bytes() == result("a") + b"\n" + result("b") + b"\n"


def test_a_result_file_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.partial"
    written(path, "a", "a", "b")
    first = ResultFile(path)  # rewritten while it is locked
    with pytest.raises(OutputLocked, match="output_locked"):
        ResultFile(path)
    first.close()
    assert len(opened_and_closed(path)) == 2


def test_results_of_a_failed_fsync_are_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.jsonl.partial"
    file = ResultFile(path)
    file.append(result("a"))
    file.sync()
    safe = path.read_bytes()
    file.append(result("b"))

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OutputFailed, match=rf"Input/output error after {len(safe)} bytes"):
        file.sync()
    monkeypatch.undo()
    # a second fsync would succeed, and does not report the data that the first one lost
    with pytest.raises(OutputFailed):
        file.sync()
    with pytest.raises(OutputFailed):
        file.append(result("c"))
    file.close()
    assert path.read_bytes() == safe
    assert len(opened_and_closed(path)) == 1


def test_results_count_after_they_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed run may leave data in the kernel that the disk then refuses."""
    path = tmp_path / "out.jsonl.partial"
    written(path, "a")

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OutputFailed, match="Input/output error"):
        ResultFile(path)


@pytest.mark.parametrize("is_complete", [False, True])
def test_a_flipped_bit_in_the_journal_is_detected(tmp_path: Path, is_complete: bool) -> None:
    path = tmp_path / "out.jsonl.journal"
    journal = BatchJournal(path)
    journal.begin(BatchRun(run_id="0123", created=1, input_sha256="ab", num_lines=9, parameters={"raw": False}))
    if is_complete:
        journal.mark_complete()
    begun = journal.read()
    journal.close()
    content = path.read_bytes()
    num_refused = 0
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        journal = BatchJournal(path)
        # without the last line end it is as after a kill: the end of that line was never written
        torn = (begun[0], False) if is_complete else (None, False)
        try:
            assert journal.read() == (torn if place == len(content) - 1 else begun)
        except OutputRefused:
            num_refused += 1
        journal.close()
    assert num_refused > len(content) // 2  # the other bits only change names of fields with default values


def test_an_unwritable_journal_begins_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.jsonl.journal"
    write = os.pwrite

    def write_half(descriptor: int, content: bytes, offset: int) -> int:
        if offset:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, bytes(content)[:20], offset)

    journal = BatchJournal(path)
    monkeypatch.setattr(os, "pwrite", write_half)
    with pytest.raises(OutputFailed, match=r"out.jsonl.journal: No space left on device after 0 bytes"):
        journal.begin(BatchRun(run_id="0123", created=1, input_sha256="ab", num_lines=9, parameters={}))
    journal.close()
    assert not path.exists()

"""Ray's output goes to a file; users see the first line of each message."""

from __future__ import annotations

import contextlib
import io
import stat
import sys
import threading
from pathlib import Path

import pytest
from rich.console import Console

from cactus_actors.cli.terminal import activity
from cactus_actors.placement.ray.ray_output import MAX_FILE_BYTES, RayOutput
from cactus_actors.protocol.errors import ConfigurationInvalid

DUMP = "\x1b[33m(raylet)\x1b[0m Raylet is terminated.\n    [state-dump] one\n    [state-dump] two\n"


class Printed:
    """A RayOutput in place of standard output, and its results."""

    def __init__(self, directory: Path, max_bytes: int = MAX_FILE_BYTES) -> None:
        self.announced: list[str] = []
        self.others = io.StringIO()
        self.output = RayOutput(directory, self.announced.append, self.others, max_bytes)

    def by_ray(self, text: str) -> None:
        with contextlib.redirect_stdout(self.output):
            thread = threading.Thread(target=print, args=(text,), kwargs={"end": ""}, name="ray_print_logs")
            thread.start()
            thread.join()

    @property
    def file(self) -> str:
        return self.output.path.read_text()


@pytest.fixture
def printed(tmp_path: Path) -> Printed:
    return Printed(tmp_path / "state")


def test_a_dump_is_in_a_private_file_and_shown_as_one_line(printed: Printed) -> None:
    printed.by_ray(DUMP)
    assert printed.file == "(raylet) Raylet is terminated.\n    [state-dump] one\n    [state-dump] two\n"
    assert printed.announced == [f"Ray: (raylet) Raylet is terminated. (more in {printed.output.path})"]
    assert printed.others.getvalue() == ""
    assert stat.S_IMODE(printed.output.path.stat().st_mode) == 0o600


def test_output_of_other_threads_is_printed(printed: Printed) -> None:
    with contextlib.redirect_stdout(printed.output):
        print("(raylet) is a word of ours")
        with printed.output.captured():
            print("(raylet) is a word of Ray's")
        print("ours again")
    assert printed.others.getvalue() == "(raylet) is a word of ours\nours again\n"
    assert printed.file == "(raylet) is a word of Ray's\n"


def test_the_last_line_is_the_last_that_is_not_blank(printed: Printed) -> None:
    assert printed.output.last_line() == ""
    printed.by_ray("one\ntwo\n\n  \n")
    assert printed.output.last_line() == "two"


def test_a_file_starts_empty_and_is_bounded(tmp_path: Path) -> None:
    Printed(tmp_path).by_ray("before\n")
    printed = Printed(tmp_path, max_bytes=10)
    for _ in range(5):
        printed.by_ray("12345\n")
    assert printed.file == "12345\n12345\n"


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("kept")
    (tmp_path / "ray.log").symlink_to(tmp_path / "other")
    with pytest.raises(ConfigurationInvalid, match=r"ray\.log"):
        Printed(tmp_path)
    assert (tmp_path / "other").read_text() == "kept"


def test_messages_that_ray_held_back_go_to_the_file_at_the_disconnect(
    printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray  # not above: Ray takes 1 s to import, and each process of the tests collects this file

    from cactus_actors.placement.ray import ray_session

    monkeypatch.setattr(ray, "shutdown", lambda: print(DUMP, end=""))
    with contextlib.redirect_stdout(printed.output):
        ray_session.disconnect(printed.output)
    assert "[state-dump] two" in printed.file
    assert printed.others.getvalue() == ""


def test_the_spinner_of_a_start_leaves_the_redirection_in_place(printed: Printed) -> None:
    console = Console(file=io.StringIO(), force_terminal=True)
    with contextlib.ExitStack() as stack:
        with activity(console, "starting a private Ray"):
            stack.enter_context(contextlib.redirect_stdout(printed.output))
        assert sys.stdout is printed.output

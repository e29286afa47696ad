"""`python -O` drops every assertion of the program: its security must not rest on one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.slow
def test_the_security_tests_pass_without_the_programs_assertions(tmp_path: Path) -> None:
    tests = [path for path in sorted(HERE.glob("test_security_*.py")) if path != Path(__file__)]
    assert len(tests) >= 3
    still_asserts = tmp_path / "test_control.py"
    still_asserts.write_text("def test_that_tests_still_assert():\n    assert __debug__\n")
    options = ["-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestConfigWarning"]
    done = subprocess.run(
        [sys.executable, "-O", "-m", "pytest", *options, *tests, still_asserts],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert re.search(r"^FAILED .*test_that_tests_still_assert", done.stdout, re.M), done.stdout
    assert re.search(r"^1 failed, \d{2,} passed", done.stdout, re.M), done.stdout

"""`python -O` removes every assertion of the program: its security must not depend on one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OTHERS = (
    "tests/chaos/test_gateway_kill.py::test_every_listening_port_is_documented",
    "tests/gateway/test_access.py",
    "tests/gateway/hostile",
    "tests/unit/handoff/test_credentials.py",
    "tests/unit/workers/test_loading_corruption.py",
    "tests/unit/keys/test_secret_keys.py",
    "tests/unit/structured/test_expressions.py",
    "tests/unit/structured/test_gbnf.py",
    "tests/unit/structured/test_grammars.py",
    "tests/unit/structured/test_response_formats.py",
    "tests/unit/structured/test_schemas.py",
    "tests/unit/text/test_template_rendering.py",
    "tests/wire/test_router_limits.py",
    "tests/wire/test_router_preparation.py",
)
"""Further tests of access, of input and of limits."""


@pytest.mark.slow
def test_the_security_tests_pass_without_the_programs_assertions(tmp_path: Path) -> None:
    tests = [path for path in sorted(HERE.glob("test_security_*.py")) if path != Path(__file__)]
    assert len(tests) >= 3
    tests += [ROOT / name for name in OTHERS]
    still_asserts = tmp_path / "test_control.py"
    still_asserts.write_text("def test_that_tests_still_assert():\n    assert __debug__\n")
    options = ["-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestConfigWarning"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests, still_asserts],
        cwd=ROOT,
        env=os.environ | {"PYTHONOPTIMIZE": "1"},  # also in the processes that the tests start
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert re.search(r"^FAILED .*test_that_tests_still_assert", done.stdout, re.M), done.stdout
    assert re.search(r"^1 failed, \d{3,} passed", done.stdout, re.M), done.stdout

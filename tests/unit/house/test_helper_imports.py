"""Helpers that two test files share are in `tests/support`."""

from __future__ import annotations

from tests.support.house.imports import imports_from_tests


def test_no_file_imports_from_a_file_of_tests_or_a_conftest() -> None:
    assert imports_from_tests() == []

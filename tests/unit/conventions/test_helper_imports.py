"""Helpers that two test files share are in `tests/support`."""

from __future__ import annotations

from tests.support.conventions.imports import imports_from_tests


def test_test_files_and_conftests_are_not_imported() -> None:
    assert imports_from_tests() == []

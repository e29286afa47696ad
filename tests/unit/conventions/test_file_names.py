"""File names are unique within a package."""

from __future__ import annotations

from tests.support.conventions.names import files_of_one_name


def test_file_names_of_a_package_are_unique() -> None:
    assert files_of_one_name() == []

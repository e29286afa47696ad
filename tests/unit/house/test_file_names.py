"""File names are unique within a package."""

from __future__ import annotations

from tests.support.house.names import files_of_one_name


def test_no_two_files_of_a_package_share_their_name() -> None:
    assert files_of_one_name() == []

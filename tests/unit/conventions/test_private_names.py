"""Names with an underscore are private to the folder that defines them."""

from __future__ import annotations

from tests.support.conventions.privates import reads_across_packages, reads_by_tests

MOST_READS_BY_TESTS = 29
"""This limit may only be lowered, whenever such reads are removed."""


def test_folders_of_the_product_read_no_private_names_of_others() -> None:
    assert reads_across_packages() == []


def test_tests_read_no_more_private_names_than_before() -> None:
    assert len(reads_by_tests()) <= MOST_READS_BY_TESTS

"""Lines fit on a screen, and files on a few."""

from __future__ import annotations

from tests.support.conventions.lines import long_files, long_lines, median_lines


def test_no_file_of_the_product_or_the_tests_has_more_than_four_hundred_lines() -> None:
    assert long_files(400) == []


def test_half_of_the_product_s_files_have_at_most_a_hundred_lines() -> None:
    assert median_lines() <= 100


def test_lines_of_code_have_at_most_120_columns() -> None:
    assert long_lines(120) == []

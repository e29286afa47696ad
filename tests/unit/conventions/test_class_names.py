"""Names of public classes are unique."""

from __future__ import annotations

from tests.support.conventions.names import classes_of_one_name


def test_public_class_names_are_unique() -> None:
    assert classes_of_one_name() == []

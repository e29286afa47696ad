"""Names of public classes are unique."""

from __future__ import annotations

from tests.support.house.names import classes_of_one_name


def test_no_two_public_classes_share_their_name() -> None:
    assert classes_of_one_name() == []

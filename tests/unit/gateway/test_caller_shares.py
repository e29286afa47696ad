"""The share of one caller leaves room for the next."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from cactus_actors.gateway.http.caller_shares import CallerShares, Share
from cactus_actors.protocol.errors import Overloaded


def taken(shares: CallerShares, caller: Hashable, num_units: int = 1) -> int:
    """The number of times that the caller gets this number of units."""
    count = 0
    while True:
        try:
            shares.take(caller, num_units)
        except Overloaded:
            return count
        count += 1


def test_a_single_caller_gets_half_and_each_next_one_half_of_the_rest() -> None:
    shares = CallerShares(100, 1, "requests are open already")
    assert [taken(shares, caller) for caller in "abcd"] == [50, 25, 12, 6]


@pytest.mark.parametrize("max_units", [1, 2, 3])
def test_the_first_caller_always_gets_one_unit(max_units: int) -> None:
    shares = CallerShares(max_units, 1, "requests are open already")
    assert taken(shares, "a") >= 1


def test_a_caller_may_always_hold_the_minimum_while_there_is_room() -> None:
    shares = CallerShares(10, 4, "bytes are held already")
    assert [taken(shares, caller) for caller in "abc"] == [5, 4, 1]


def test_a_share_that_is_released_is_free_again() -> None:
    shares = CallerShares(100, 1, "bytes are held already")
    share = Share(shares, "a")
    share.add(40)
    share.set(10)
    assert shares.num_units == 10
    with pytest.raises(Overloaded) as refused:
        share.set(90)
    assert refused.value.retry_after == 1.0
    assert shares.num_units == 10
    share.release()
    share.release()
    assert shares.num_units == 0
    assert taken(shares, "a") == 50

"""Hashes of blocks with equal tokens differ if the pictures in them differ."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.block_hashes import BLOCK_SIZE, PictureSpan, block_hashes, picture_spans
from cactus_actors.protocol.pictures import PictureTile, PreparedPicture

IMAGE = 9


def picture(name: bytes, *counts: int) -> PreparedPicture:
    return PreparedPicture.of([PictureTile(count, 1, count, name) for count in counts])


def test_spans_go_from_the_first_placeholder_of_a_picture_to_its_last() -> None:
    first, second = picture(b"a", 2, 3), picture(b"b", 1)
    token_ids = [1, IMAGE, IMAGE, 2, IMAGE, IMAGE, IMAGE, 3, IMAGE, 4]
    assert picture_spans(token_ids, IMAGE, [first, second]) == (
        PictureSpan(first.digest, 1, 7),
        PictureSpan(second.digest, 8, 9),
    )
    assert picture_spans(token_ids, IMAGE, []) == ()


@pytest.mark.parametrize("counts", [(1, 4), (3, 4), (6, 0), ()])
def test_every_embedding_has_a_placeholder(counts: tuple[int, ...]) -> None:
    pictures = [picture(b"a", count) for count in counts] or [picture(b"a")]
    with pytest.raises(ValueError, match="6 placeholder tokens"):
        picture_spans([IMAGE] * 6, IMAGE, pictures)


def test_blocks_before_a_picture_are_shared_and_those_from_it_on_are_not() -> None:
    token_ids = [1] * (2 * BLOCK_SIZE + 3) + [IMAGE] * BLOCK_SIZE + [2] * (3 * BLOCK_SIZE)
    spans = [picture_spans(token_ids, IMAGE, [picture(name, BLOCK_SIZE)]) for name in (b"a", b"b")]
    plain, first, second = (block_hashes(token_ids, "", each) for each in ((), *spans))
    assert first == block_hashes(token_ids, "", spans[0])
    for one, other in ((plain, first), (plain, second), (first, second)):
        assert one[:2] == other[:2]
        assert not set(one[2:]) & set(other[2:])


def test_the_same_pictures_in_another_order_are_another_prompt() -> None:
    a, b = picture(b"a", 3), picture(b"b", 3)
    token_ids = [IMAGE] * 6 + [1] * 30
    first, second = (block_hashes(token_ids, "", picture_spans(token_ids, IMAGE, each)) for each in ([a, b], [b, a]))
    assert not set(first) & set(second)

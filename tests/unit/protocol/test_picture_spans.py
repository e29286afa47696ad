"""Blocks of a prompt with pictures are hashed with the pictures whose placeholders are in them."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.block_hashes import BLOCK_SIZE, block_hashes, digests_within, picture_spans
from cactus_actors.protocol.pictures import PictureTile, PreparedPicture
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.wire import MAX_MESSAGE_BYTES, encode, router_command_decoder
from cactus_actors.protocol.worker_messages import Dispatch

IMAGE = 7


def picture(*num_tokens: int, byte: int = 0) -> PreparedPicture:
    return PreparedPicture.of([PictureTile(1, 1, count, bytes([byte] * 3)) for count in num_tokens])


def test_a_span_is_from_the_first_placeholder_to_the_last() -> None:
    first, second = picture(2, 1), picture(1, byte=1)
    ids = [1, IMAGE, IMAGE, 2, IMAGE, 3, IMAGE, 4]
    assert picture_spans(ids, IMAGE, [first, second]) == ((first.digest, 1, 5), (second.digest, 6, 7))
    assert picture_spans(ids, IMAGE, []) == ()


@pytest.mark.parametrize("num_tokens", [3, 5, 0])
def test_each_picture_token_has_one_placeholder(num_tokens: int) -> None:
    with pytest.raises(ValueError, match="placeholder"):
        picture_spans([IMAGE] * 4, IMAGE, [picture(num_tokens)])


def test_digests_are_those_of_pictures_with_tokens_in_between() -> None:
    spans = picture_spans([0, IMAGE, IMAGE, 0, IMAGE], IMAGE, [picture(2), picture(1, byte=1)])
    first, second = (span.digest for span in spans)
    found = [digests_within(spans, start, start + 1) for start in range(5)]
    assert found == [b"", first, first, b"", second]
    assert digests_within(spans, 0, 5) == first + second


def test_a_digest_covers_sizes_and_pixels() -> None:
    tiles = [PictureTile(2, 1, 1, b"abcdef"), PictureTile(1, 2, 1, b"abcdef"), PictureTile(2, 1, 2, b"abcdef")]
    others = [PictureTile(2, 1, 1, b"abcdeg")]
    digests = {PreparedPicture.of([tile]).digest for tile in [*tiles, *others]}
    assert len(digests) == 4
    assert all(len(digest) == 32 for digest in digests)


def test_only_blocks_before_a_picture_are_shared() -> None:
    ids = [*range(100, 100 + BLOCK_SIZE), *[IMAGE] * BLOCK_SIZE, *range(100, 100 + BLOCK_SIZE)]
    one, other = (block_hashes(ids, "", picture_spans(ids, IMAGE, [picture(BLOCK_SIZE, byte=byte)])) for byte in (1, 2))
    without = block_hashes(ids)
    assert one[0] == other[0] == without[0]
    assert len({one[1], other[1], without[1]}) == len({one[2], other[2], without[2]}) == 3


def test_a_command_to_a_worker_may_have_pictures_of_many_bytes() -> None:
    tile = PictureTile(2048, 1024, 64, bytes(2048 * 1024 * 3))
    pictures = [PreparedPicture.of([tile])]
    dispatch = Dispatch(1, "job", [], [], SamplingParams(max_tokens=1), pictures=pictures)
    frames = encode(dispatch)
    assert len(frames[1]) > MAX_MESSAGE_BYTES
    assert router_command_decoder().decode(frames) == dispatch

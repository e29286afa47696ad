"""Pictures of earlier requests are not decoded again, for their own tenant, within a bound."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from PIL import Image

from cactus_actors.protocol.errors import MediaTooLarge
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.pictures import PictureFrame, PictureTile
from cactus_actors.router.preparation.picture_cache import CachedPicture, PictureCache
from cactus_actors.router.preparation.picture_content import PictureSource
from cactus_actors.router.preparation.picture_contents import PictureContents
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.preparation.request_pictures import request_pictures
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.vision.picture_limits import PictureLimits
from cactus_actors.vision.picture_processor import ProcessedPicture
from tests.support.router.core_harness import job_id
from tests.support.router.picture_letters import LetterPictures, PictureLetters, png


class CountingPictures(LetterPictures):
    """Counts the pictures that it processes."""

    def __init__(self) -> None:
        self.num_processed = 0

    def process(self, picture: Image.Image) -> ProcessedPicture:
        self.num_processed += 1
        return super().process(picture)


class CountingLetters(PictureLetters):
    def __init__(self) -> None:
        super().__init__()
        self.pictures: CountingPictures = CountingPictures()


@pytest.fixture
def model() -> CountingLetters:
    return CountingLetters()


def prepared(
    model: CountingLetters, cache: PictureCache | None, contents: Sequence[bytes], tenant: str = ""
) -> PreparedRequest:
    images = [PictureFrame(frame) for frame in range(len(contents))]
    submit = Submit(job_id=job_id(1), messages=[ChatMessage(role="user", content="?", images=[*images])])
    return prepare(submit, model, PictureContents(frames=contents, cache=cache, tenant=tenant))


def test_a_picture_of_an_earlier_request_is_the_same_and_not_decoded_again(model: CountingLetters) -> None:
    cache = PictureCache()
    first = prepared(model, cache, [png(0)])
    second = prepared(model, cache, [png(0), png(1)])
    assert model.pictures.num_processed == 2
    fresh = prepared(model, None, [png(0), png(1)])
    assert (second.prompt_ids, second.pictures, second.block_hashes) == (
        fresh.prompt_ids,
        fresh.pictures,
        fresh.block_hashes,
    )
    assert second.pictures[0] == first.pictures[0]


def test_another_tenants_picture_is_decoded_again(model: CountingLetters) -> None:
    cache = PictureCache()
    for tenant in ("one", "two", "one"):
        prepared(model, cache, [png(0)], tenant)
    assert model.pictures.num_processed == 2


def test_a_picture_that_was_prepared_before_counts_towards_the_limits_of_its_request(model: CountingLetters) -> None:
    cache = PictureCache()
    prepared(model, cache, [png(0)])
    contents = PictureContents(frames=[png(0)], cache=cache)
    sources = [PictureSource(PictureFrame(0), f"images[{place}]") for place in range(2)]
    with pytest.raises(MediaTooLarge, match="picture 1: 8 x 8 pixels, 36 in all are allowed"):
        request_pictures(sources, model, contents, PictureLimits(max_total_pixels=100))
    assert model.pictures.num_processed == 1


def entry(num_bytes: int) -> CachedPicture:
    return CachedPicture(1, 1, ProcessedPicture.of([PictureTile(1, 1, 1, bytes(num_bytes))], "~"))


def test_the_cache_is_bounded_and_forgets_the_least_recently_used() -> None:
    cache = PictureCache(max_bytes=100)
    for name in (b"a", b"b"):
        cache.put("", name, entry(40))
    assert cache.get("", b"a")
    cache.put("", b"c", entry(40))
    assert [name for name in (b"a", b"b", b"c") if cache.get("", name)] == [b"a", b"c"]
    cache.put("", b"a", entry(40))
    assert cache.num_bytes == 80
    cache.put("", b"large", entry(101))
    assert cache.get("", b"large") is None
    assert cache.num_bytes == 80

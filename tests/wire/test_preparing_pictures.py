"""Pictures are prepared in the process beside the router, within its memory and time."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from cactus_actors.protocol.errors import MediaNotAllowed, MediaTooLarge
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.picture_access import PictureAccess
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.preparation.preparer_frames import PreparerModel
from cactus_actors.router.preparation.preparer_process import PreparerProcess
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.text import load_text_model
from tests.goldens.sample_pictures import sample_picture
from tests.support.models.vision_models import PICTURE_MODELS
from tests.support.router.core_harness import job_id

MODEL = PICTURE_MODELS / "smolvlm"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="module")
def process(root: Path) -> Iterator[PreparerProcess]:
    process = PreparerProcess(
        PreparerModel(str(MODEL)), limit_s=60.0, cpu_s=60.0, pictures=PictureAccess(root=str(root))
    )
    yield process
    process.close()


def asking(*images: str) -> Submit:
    return Submit(job_id=job_id(1), messages=[ChatMessage(role="user", content="What is it?", images=list(images))])


def prepared(process: PreparerProcess, *images: str) -> PreparedRequest:
    return process.prepare(msgspec.msgpack.encode(asking(*images)))


def test_the_preparation_process_gives_the_same_pictures_as_this_process(process: PreparerProcess) -> None:
    content = io.BytesIO()
    sample_picture(60, 40, seed=1).save(content, "PNG")
    url = f"data:;base64,{base64.b64encode(content.getvalue()).decode()}"
    ours, theirs = prepare(asking(url), load_text_model(MODEL)), prepared(process, url)
    assert (ours.prompt_ids, ours.pictures, ours.block_hashes) == (
        theirs.prompt_ids,
        theirs.pictures,
        theirs.block_hashes,
    )


def test_the_largest_pictures_fit_the_memory_and_larger_ones_are_refused(process: PreparerProcess, root: Path) -> None:
    Image.new("RGBA", (8000, 4000), (200, 100, 0, 128)).save(root / "large.png", compress_level=1)
    Image.new("RGBA", (4000, 4000), (200, 100, 0, 128)).save(root / "half.png", compress_level=1)
    Image.new("1", (8000, 4001)).save(root / "larger.png")
    process.make_ready()
    pid = process.pid
    assert len(prepared(process, "large.png", "half.png").pictures) == 2
    with pytest.raises(MediaTooLarge, match="picture 1: 8000 x 4000 pixels"):
        prepared(process, "large.png", "large.png")
    with pytest.raises(MediaTooLarge, match="picture 0: 8000 x 4001 pixels"):
        prepared(process, "larger.png")
    assert process.pid == pid, "no request has cost the process"


def test_only_places_that_the_service_allows_are_read(process: PreparerProcess, root: Path) -> None:
    for source in ("/etc/passwd", "../x.png", "http://127.0.0.1/x.png"):
        with pytest.raises(MediaNotAllowed, match="picture 0: "):
            prepared(process, source)

"""Pictures of messages become tiles, and placeholder tokens of the prompt."""

from __future__ import annotations

import base64
import dataclasses
import io
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.block_hashes import block_hashes
from cactus_actors.protocol.content_part import ContentPart
from cactus_actors.protocol.errors import (
    ContextExceeded,
    InvalidRequest,
    MediaInvalid,
    MediaNotAllowed,
    MediaTooLarge,
    NotSupported,
)
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.router.preparation.picture_contents import PictureContents
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.preparation.request_pictures import check_sees
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.queue_load import load_of_request
from cactus_actors.text import load_text_model
from cactus_actors.text.chat_template import ChatTemplate
from cactus_actors.text.picture_parts import takes_strings
from cactus_actors.text.text_model import TextModel
from cactus_actors.vision.picture_reader import PictureReader
from cactus_actors.vision.prompt_pictures import with_placeholders
from tests.goldens.sample_pictures import sample_picture
from tests.support.models.vision_models import PICTURE_MODELS, vision_model
from tests.support.router.core_harness import job_id


@pytest.fixture(scope="module")
def model() -> TextModel:
    return vision_model(PICTURE_MODELS / "smolvlm")


def png(width: int, height: int, seed: int = 0) -> bytes:
    content = io.BytesIO()
    sample_picture(width, height, seed).save(content, "PNG")
    return content.getvalue()


def url(width: int, height: int, seed: int = 0) -> str:
    return f"data:image/png;base64,{base64.b64encode(png(width, height, seed)).decode()}"


def part(source: str) -> ContentPart:
    return ContentPart(type="image_url", image_url={"url": source, "detail": "low"})


def text(said: str) -> ContentPart:
    return ContentPart(type="text", text=said)


def user(*parts: ContentPart, images: list[str] | None = None) -> ChatMessage:
    return ChatMessage(role="user", content=list(parts), images=images)


def prepared(model: TextModel, *messages: ChatMessage, reader: PictureReader | None = None) -> PreparedRequest:
    submit = Submit(job_id=job_id(1), messages=list(messages))
    return prepare(submit, model, PictureContents(reader or PictureReader()))


def expected_ids(model: TextModel, *turns: dict[str, Any], pictures: list[tuple[int, int, int]]) -> list[int]:
    assert model.pictures is not None
    processed = [model.pictures.process(sample_picture(*one)) for one in pictures]
    return model.chat_prompt(list(turns), pictures=processed).ids


IMAGE = {"type": "image"}


def test_pictures_are_at_their_place_in_the_message(model: TextModel) -> None:
    job = prepared(model, user(text("a"), part(url(60, 40)), text("b"), part(url(30, 90)), text("c")))
    content = [
        {"type": "text", "text": "a"},
        IMAGE,
        {"type": "text", "text": "b"},
        IMAGE,
        {"type": "text", "text": "c"},
    ]
    pictures = [(60, 40, 0), (30, 90, 0)]
    assert job.prompt_ids == expected_ids(model, {"role": "user", "content": content}, pictures=pictures)
    assert len(job.pictures) == 2
    assert model.pictures is not None
    assert job.prompt_ids.count(model.pictures.config.image_token_id) == sum(one.num_tokens for one in job.pictures)
    assert job.cloud_refusal == "pictures are not sent to a cloud"
    assert not job.policy.allow_cloud


def test_all_spellings_of_a_picture_part_are_equivalent(model: TextModel) -> None:
    source = url(60, 40)
    spelled = [
        user(part(source), text("a")),
        user(ContentPart(type="image_url", image_url=source), text("a")),
        user(ContentPart(type="input_image", image_url=source), text("a")),
        user(text("a"), images=[source]),
        ChatMessage(role="user", content="a", images=[source]),
    ]
    first, *others = [prepared(model, message) for message in spelled]
    assert all((one.prompt_ids, one.pictures) == (first.prompt_ids, first.pictures) for one in others)


def test_a_message_may_consist_of_pictures(model: TextModel) -> None:
    job = prepared(model, ChatMessage(role="user", images=[url(60, 40)]))
    assert job.prompt_ids == expected_ids(model, {"role": "user", "content": [IMAGE]}, pictures=[(60, 40, 0)])


def test_a_vision_model_renders_text_messages_unchanged(model: TextModel) -> None:
    turns = [ChatMessage(role="user", content="a"), ChatMessage(role="assistant", content="b"), user(text("c"))]
    contents = [("user", "a"), ("assistant", "b"), ("user", "c")]
    job = prepared(model, *turns)
    assert job.prompt_ids == model.chat_prompt([{"role": role, "content": said} for role, said in contents]).ids
    assert (job.pictures, job.picture_spans, job.cloud_refusal) == ([], (), None)


def test_the_same_prompt_about_another_picture_has_other_blocks(model: TextModel) -> None:
    first, same, other = (prepared(model, user(part(url(60, 40, seed)), text("a"))) for seed in (1, 1, 2))
    assert first.prompt_ids == same.prompt_ids == other.prompt_ids
    assert first.block_hashes == same.block_hashes
    assert len(first.block_hashes) > 1
    assert set(first.block_hashes).isdisjoint(other.block_hashes[1:])
    assert first.block_hashes == block_hashes(first.prompt_ids, "", first.picture_spans)
    assert first.block_hashes != block_hashes(first.prompt_ids)
    [span] = first.picture_spans
    assert model.pictures is not None
    image = model.pictures.config.image_token_id
    assert (first.prompt_ids[span.start], first.prompt_ids[span.end - 1]) == (image, image)
    assert image not in first.prompt_ids[: span.start] + first.prompt_ids[span.end :]


def test_the_memory_of_pictures_counts_towards_the_limit(model: TextModel) -> None:
    job = prepared(model, user(part(url(60, 40)), text("a")))
    assert load_of_request(b"", job).num_bytes > sum(len(tile.pixels) for tile in job.pictures[0].tiles) > 10_000


@pytest.mark.parametrize(
    ("sources", "kind", "param", "message"),
    [
        ([url(9, 9), "data:;base64,AAAA"], MediaInvalid, "messages[0].content[1]", "picture 1: not a PNG, JPEG"),
        (["/etc/passwd"], MediaNotAllowed, "messages[0].content[0]", "picture 0: this service reads no pictures"),
        (["http://127.0.0.1/"], MediaNotAllowed, "messages[0].content[0]", "picture 0: this service fetches no"),
        ([url(9, 9)] * 33, MediaTooLarge, "messages", "33 pictures, 32 are allowed"),
    ],
)
def test_an_invalid_picture_is_named_by_its_index(
    model: TextModel, sources: list[str], kind: type[InvalidRequest], param: str, message: str
) -> None:
    with pytest.raises(kind) as caught:
        prepared(model, user(*(part(source) for source in sources)))
    assert caught.value.param == param
    assert caught.value.message.startswith(message)
    assert caught.value.status == 400


def test_the_index_of_a_picture_counts_all_messages(model: TextModel) -> None:
    with pytest.raises(MediaInvalid, match="picture 2: ") as caught:
        prepared(model, user(images=[url(9, 9), url(9, 9)]), user(text("a"), images=["data:;base64,AAAA"]))
    assert caught.value.param == "messages[1].images[0]"


def test_picture_paths_are_read_below_the_configured_directory(model: TextModel, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png(60, 40))
    job = prepared(model, user(part("a.png"), text("a")), reader=PictureReader(tmp_path))
    assert job.pictures == prepared(model, user(part(url(60, 40)), text("a"))).pictures


def test_pictures_that_do_not_fit_the_context_are_refused(model: TextModel) -> None:
    small = dataclasses.replace(model, max_context=100)
    with pytest.raises(ContextExceeded, match="the first 3 pictures"):
        prepared(small, user(part(url(60, 10)), part(url(60, 40)), part(url(60, 40))))


@pytest.mark.parametrize(
    ("message", "kind", "param"),
    [
        (ChatMessage(role="assistant", content="a", images=["x"]), InvalidRequest, "messages[0]"),
        (user(ContentPart(type="image_url")), InvalidRequest, "messages[0].content[0]"),
        (user(ContentPart(type="input_image", image_url={"file_id": "x"})), InvalidRequest, "messages[0].content[0]"),
        (user(ContentPart(type="input_audio")), NotSupported, "messages[0].content"),
        (user(part(url(9, 9)), ContentPart(type="video_url")), NotSupported, "messages[0].content"),
        (user(part(url(9, 9)), ContentPart(type="text")), InvalidRequest, "messages[0].content"),
    ],
)
def test_other_content_parts_are_refused(
    model: TextModel, message: ChatMessage, kind: type[InvalidRequest], param: str
) -> None:
    with pytest.raises(kind) as caught:
        prepared(model, message)
    assert (caught.value.param, type(caught.value)) == (param, kind)


def test_a_text_model_refuses_pictures_by_its_name() -> None:
    model = load_text_model(resolve_model("cactus-sprout"))
    with pytest.raises(NotSupported, match="cactus-sprout is a text model: pictures cannot be read"):
        prepared(model, user(part(url(9, 9))))


def test_a_text_model_among_several_names_those_that_read_pictures(model: TextModel) -> None:
    blind = load_text_model(resolve_model("cactus-sprout"))
    asked, plain = (Submit(job_id=job_id(1), messages=[user(one)]) for one in (part(url(9, 9)), text("hello")))
    models = {"small": blind, "seeing": model}
    told = "small is a text model: pictures cannot be read; models of this service that read them: seeing$"
    with pytest.raises(NotSupported, match=told):
        check_sees(asked, "small", models)
    with pytest.raises(NotSupported, match=r"pictures cannot be read$"):
        check_sees(asked, "small", {"small": blind, "other": blind})
    for request, name in ((plain, "small"), (asked, "seeing")):
        check_sees(request, name, models)


@pytest.mark.parametrize(
    ("source", "takes"),
    [
        ("{% for m in messages %}{{ m.content }}{% endfor %}", True),
        ("{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}", False),
        ("{% for m in messages %}{{ m.content[0].text | trim }}{% endfor %}", False),
        ("{% for m in messages %}{{ m.content if m.content is string else 1 }}{% endfor %}", True),
    ],
)
def test_the_form_of_message_contents_is_found_by_rendering(source: str, takes: bool) -> None:
    assert takes_strings(ChatTemplate.compile(source, Path("template"), {})) == takes


def media_job(model: TextModel, prompt: Any, *images: str, **fields: Any) -> PreparedRequest:
    return prepare(Submit(job_id=job_id(1), prompt=prompt, images=list(images), **fields), model)


def test_a_prompt_has_its_pictures_at_its_markers(model: TextModel) -> None:
    assert model.pictures is not None
    first, second = url(60, 40), url(30, 90, 1)
    job = media_job(model, "a<__media__>b<__media__>c", first, second)
    shown = [model.pictures.process(sample_picture(*one)) for one in ((60, 40, 0), (30, 90, 1))]
    text = f"a{shown[0].text}b{shown[1].text}c"
    pictures = [one.picture for one in shown]
    ids = model.tokenizer.encode(text, add_special=True)
    assert job.prompt_ids == with_placeholders(ids, model.pictures.config.image_token_id, pictures)
    assert job.pictures == pictures
    assert [span.digest for span in job.picture_spans] == [one.digest for one in pictures]
    assert not job.policy.allow_cloud
    assert job.block_hashes != media_job(model, "a<__media__>b<__media__>c", second, first).block_hashes


def test_pictures_without_a_matching_prompt_are_refused(model: TextModel) -> None:
    picture = url(9, 9)
    turns = [ChatMessage(role="user", content="a")]
    for prompt, images, fields, kind, param in (
        ("a", [picture], {}, InvalidRequest, "prompt"),
        ("<__media__><__media__>", [picture], {}, InvalidRequest, "prompt"),
        ([1, 2], [picture], {}, InvalidRequest, "images"),
        (None, [picture], {"messages": turns}, InvalidRequest, "images"),
        ("<__media__>", [picture], {"task": "embed"}, NotSupported, "images"),
        ("<__media__>", [picture], {"options": Options(suffix="b")}, InvalidRequest, "images"),
        ("<__media__><__media__>", [picture, "data:;base64,AAAA"], {}, MediaInvalid, "images[1]"),
    ):
        with pytest.raises(kind) as caught:
            media_job(model, prompt, *images, **fields)
        assert (caught.value.param, type(caught.value)) == (param, kind)
    with pytest.raises(NotSupported, match="cactus-sprout is a text model"):
        media_job(load_text_model(resolve_model("cactus-sprout")), "<__media__>", picture)


def test_videos_are_refused_by_their_type(model: TextModel) -> None:
    video = ContentPart(type="video_url")
    for parts in ((video,), (part(url(30, 20)), video)):
        with pytest.raises(
            NotSupported, match=r"a model of text and pictures: content of type 'video_url' cannot be read"
        ):
            prepared(model, user(*parts))

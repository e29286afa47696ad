"""A chat template and a tool format that settings give in place of a model's own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import gguf
import msgspec
import pytest

from cactus_actors.config_reading import make_config, read_config_file
from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.errors import ConfigurationInvalid, ModelFileInvalid, NotSupported
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.model_overrides import ModelOverrides
from cactus_actors.router.preparation.preparer_frames import PreparerModel
from cactus_actors.router.preparation.preparer_process import PreparerProcess
from cactus_actors.service.actor_settings import overrides_of
from cactus_actors.text import TextModel, load_text_model
from cactus_actors.tools.markup_table import MARKUPS
from tests.support.models.tiny_gguf import TOKEN_TYPES, TOKENS
from tests.support.router.running_router import serving
from tests.support.services.fake_worker_service import fake_worker_service

TEMPLATE = "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}[assistant] "
MESSAGES = [{"role": "user", "content": "hello"}]
TOOLS = [{"type": "function", "function": {"name": "time", "parameters": {"type": "object"}}}]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The embedded model without its chat template."""
    model = tmp_path / "bare"
    shutil.copytree(resolve_model("cactus-sprout"), model)
    (model / "chat_template.jinja").unlink()
    config = model / "tokenizer_config.json"
    declared = json.loads(config.read_text())
    config.write_text(json.dumps({name: declared[name] for name in declared if name != "chat_template"}))
    return model


@pytest.fixture
def template(tmp_path: Path) -> str:
    path = tmp_path / "mine.jinja"
    path.write_text(TEMPLATE)
    return str(path)


def prompt_of(model: TextModel, **arguments: Any) -> str:
    return model.tokenizer.decode(model.chat_prompt(MESSAGES, **arguments).ids)


def test_a_template_can_be_given_for_a_model_without_one(bare: Path, template: str) -> None:
    with pytest.raises(NotSupported, match="no chat template"):
        load_text_model(bare).chat_prompt(MESSAGES)
    model = load_text_model(bare, ModelOverrides(chat_template=template))
    assert prompt_of(model) == "[user] hello\n[assistant] "
    assert model.tool_markup == "json"
    assert model.chat.abilities.tools_name is None
    assert "time" in prompt_of(model, tools=TOOLS)  # described in the prompt


def test_the_status_has_whether_there_is_a_template(bare: Path, template: str) -> None:
    for overrides, has_one in ((ModelOverrides(), False), (ModelOverrides(chat_template=template), True)):
        with serving(load_text_model(bare, overrides), model=str(bare), overrides=overrides) as service:
            assert service.status().has_chat_template == has_one


def test_a_given_template_replaces_that_of_the_model(template: str) -> None:
    own = load_text_model(resolve_model("cactus-sprout"))
    other = load_text_model(resolve_model("cactus-sprout"), ModelOverrides(chat_template=template))
    assert prompt_of(own) != prompt_of(other) == "[user] hello\n[assistant] "
    assert own.fingerprint == other.fingerprint


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A GGUF file with a few tokens and no chat template."""
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([-float(score) for score in range(len(TOKENS))])
    writer.add_token_types(TOKEN_TYPES)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def test_a_template_can_be_given_for_a_gguf_file(tiny: Path, template: str) -> None:
    assert load_text_model(tiny).chat_template is None
    model = load_text_model(tiny, ModelOverrides(chat_template=template, tool_format="hermes"))
    assert model.chat_template is not None
    assert model.chat_template.render(MESSAGES, None, True) == "[user] hello\n[assistant] "
    assert model.tool_markup == "hermes"


@pytest.mark.parametrize("name", sorted(MARKUPS))
def test_a_tool_format_is_a_known_markup(tiny: Path, template: str, name: str) -> None:
    assert load_text_model(tiny, ModelOverrides(chat_template=template, tool_format=name)).tool_markup == name


def test_a_tool_format_replaces_that_of_the_model() -> None:
    sprout = resolve_model("cactus-sprout")
    assert load_text_model(sprout).tool_markup == "hermes"
    assert load_text_model(sprout, ModelOverrides(tool_format="mistral")).tool_markup == "mistral"


def test_invalid_overrides_are_named(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match=r"tool_format must be one of .*hermes.*, got 'morse'"):
        load_text_model(bare, ModelOverrides(tool_format="morse"))
    (tmp_path / "broken.jinja").write_text("one\n{% for %}")
    for name, words in (("broken.jinja", "line 2 of the chat template"), ("missing.jinja", "No such file")):
        with pytest.raises(ModelFileInvalid, match=words) as refused:
            load_text_model(bare, ModelOverrides(chat_template=str(tmp_path / name)))
        assert refused.value.param == name
    (tmp_path / "latin.jinja").write_bytes(b"\xe9")
    with pytest.raises(ModelFileInvalid, match="not valid UTF-8"):
        load_text_model(bare, ModelOverrides(chat_template=str(tmp_path / "latin.jinja")))


def test_the_settings_are_options_of_serve(tmp_path: Path) -> None:
    (tmp_path / "serve.toml").write_text('chat_template = "~/mine.jinja"\ntool_format = "hermes"\n')
    config = make_config(read_config_file(tmp_path / "serve.toml"))
    told = overrides_of(config)
    assert told == ModelOverrides(chat_template=str(Path("~/mine.jinja").expanduser()), tool_format="hermes")
    assert overrides_of(make_config()) == ModelOverrides()


def test_requests_are_prepared_with_the_overrides(bare: Path, template: str) -> None:
    told = ModelOverrides(chat_template=template, tool_format="llama3")
    process = PreparerProcess(PreparerModel(str(bare), told))
    try:
        asked = [ChatMessage(role="user", content="hello")]
        prepared = process.prepare(msgspec.msgpack.encode(Submit(job_id="0" * 32, messages=asked, tools=TOOLS)))
    finally:
        process.close()
    text = load_text_model(bare).tokenizer.decode(prepared.prompt_ids)
    assert text.startswith("[user] ")
    assert text.endswith("hello\n[assistant] ")
    assert prepared.tool_markup == "llama3"


def test_the_gateway_uses_the_given_template(bare: Path, template: str, tmp_path: Path) -> None:
    told = ModelOverrides(chat_template=template, tool_format="llama3")
    settings = {"model": str(bare), "overrides": told}
    with fake_worker_service(tmp_path / "state", gateway=settings) as service, service.http() as http:
        prompt = http.post("/apply-template", json={"messages": MESSAGES})
        assert prompt.json()["prompt"] == "[user] hello\n[assistant] "
        [card] = http.get("/v1/models").json()["data"]
    assert card["capabilities"] == card["capabilities"] | {"completion_chat": True, "function_calling": True}

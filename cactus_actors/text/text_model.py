"""The text side of a model: tokenizer, chat template, limits; no weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cactus_actors.models.checked_files import invalid, read_json_object
from cactus_actors.models.fingerprint import model_fingerprint
from cactus_actors.models.hub_cache import repository_of
from cactus_actors.models.mmproj_path import find_mmproj
from cactus_actors.models.pooling import POOLING_FILE
from cactus_actors.models.served_context import context_of_gguf, context_of_json
from cactus_actors.protocol.errors import NotSupported
from cactus_actors.protocol.model_overrides import NO_OVERRIDES, ModelOverrides
from cactus_actors.text import huggingface
from cactus_actors.text.chat_overrides import template_source, tool_format
from cactus_actors.text.chat_prompt import ChatPrompt, ChatText, end_of
from cactus_actors.text.chat_template import ChatTemplate
from cactus_actors.text.fill import FillTokens, fill_ends_of, fill_tokens_of
from cactus_actors.text.harmony import harmony_ends_of
from cactus_actors.text.model_reasoning import ModelReasoning, reasoning_of
from cactus_actors.text.picture_parts import takes_strings, with_parts
from cactus_actors.text.template_abilities import ALL_ABILITIES, TemplateAbilities, abilities_of
from cactus_actors.text.tokenizer import Tokenizer
from cactus_actors.text.tool_prompt import tool_prompt
from cactus_actors.tools.detection import markup_of, tool_tokens_of
from cactus_actors.tools.tool_prompting import mentions_tools
from cactus_actors.vision.family_configs import picture_config_of
from cactus_actors.vision.picture_config import SERVED_FAMILIES
from cactus_actors.vision.picture_processor import PictureProcessor, ProcessedPicture
from cactus_actors.vision.prompt_pictures import with_pictures, with_placeholders

if TYPE_CHECKING:
    from cactus_actors.models.gguf_file import GGUFFile

MAX_CONTEXT = 1 << 24


@dataclass(frozen=True)
class ChatSupport:
    """A model's chat templates and their support of tools and reasoning.

    `tool_markup` names the model's markup of tool calls (`tools/markup_table.py`), `tool_tokens` are id and text of
    the control tokens in it. By its `abilities`, prompt text adds the parts of tool use that the template does not
    render; some models have a `tool_template` for conversations with tools. A model `is_for_tools` if its template does
    anything with them, or if its `tool_markup` was given; others may be asked with tools, too. `reasoning` is the
    model's reasoning markup, None if unknown. Without a template every field is empty.
    """

    chat_template: ChatTemplate | None = None
    tool_template: ChatTemplate | None = None
    abilities: TemplateAbilities = ALL_ABILITIES
    is_for_tools: bool = False
    tool_markup: str | None = None
    tool_tokens: tuple[tuple[int, str], ...] = ()
    reasoning: ModelReasoning | None = None


@dataclass(frozen=True)
class TextModel:
    """Tokenizer, chat template and limits of one model.

    `max_context` is in tokens, prompt and answer together; generation ends at any of `eos_ids`. `fingerprint`
    is that of the model's files. `pictures` prepares those of messages, None for a model of text alone.
    """

    name: str
    tokenizer: Tokenizer
    eos_ids: frozenset[int]
    max_context: int
    chat: ChatSupport
    fingerprint: str = ""
    pictures: PictureProcessor | None = None

    @property
    def chat_template(self) -> ChatTemplate | None:
        return self.chat.chat_template

    @property
    def tool_markup(self) -> str | None:
        return self.chat.tool_markup

    @property
    def tool_tokens(self) -> tuple[tuple[int, str], ...]:
        return self.chat.tool_tokens

    @property
    def reasoning(self) -> ModelReasoning | None:
        return self.chat.reasoning

    @cached_property
    def fill_tokens(self) -> FillTokens | None:
        """The tokens for filling in the middle of a text; None for a model that cannot."""
        return fill_tokens_of(self.tokenizer)

    @property
    def has_chat_template(self) -> bool:
        """True if the model takes conversations."""
        return self.chat_template is not None

    def chat_text(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        add_generation_prompt: bool = True,
        answer_begins: str = "",
        answer_reasoning: str = "",
        thinking: bool | None = None,
        needs_switch: bool = False,
        variables: Mapping[str, Any] | None = None,
    ) -> ChatText:
        """The prompt of a conversation as text, with a mark inside texts that look like control tokens.

        The answer continues `answer_begins`, after `answer_reasoning`. `thinking` switches reasoning on or off,
        None leaves it to the template, which also gets `variables`. Raises TemplateInvalid, and NotSupported if the
        model has no chat template, or its template no switch where it `needs_switch`.
        """
        template = self.chat_template
        if template is None:
            raise NotSupported(f"the model {self.name} has no chat template; send a prompt instead", param="messages")
        if tools or mentions_tools(messages):
            template = self.chat.tool_template or template
            messages, tools = tool_prompt(
                messages, tools or (), self.chat.abilities, self.tool_markup or "json", self.tokenizer.shield
            )
        if self.pictures is not None and not self._takes_strings:
            messages = with_parts(messages)
        if needs_switch and not template.reasoning_switches:
            raise NotSupported(f"the chat template of {self.name} has no reasoning mode", param="prompt_mode")
        shield = self.tokenizer.shield
        prompt = template.render(
            messages,
            tools,
            add_generation_prompt,
            escape=shield,
            thinking=thinking,
            variables=variables,
            tools_name=self.chat.abilities.tools_name or "tools",
        )
        if self.reasoning is None or not add_generation_prompt:
            thinks = bool(template.reasoning_switches) and thinking is not False
            return ChatText(prompt + shield(answer_begins), "undecided", thinks)
        end = end_of(
            prompt,
            self.reasoning.markup,
            thinking=thinking,
            past=shield(answer_reasoning),
            answer_begins=answer_begins,
        )
        asked = self.reasoning.unasked if thinking is None else thinking
        return ChatText(prompt + end.added + shield(answer_begins), end.start, asked and not end.is_closed)

    def chat_prompt(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        pictures: Sequence[ProcessedPicture] = (),
        **options: Any,
    ) -> ChatPrompt:
        """The `chat_text` of the same arguments as ids, with one beginning-of-sequence token if there is one.

        Control tokens come from the template only: text that looks like one is encoded as text. `pictures` stand at
        the messages' parts of type image.
        """
        text, start, thinks = self.chat_text(messages, tools, **options)
        if not pictures:
            return ChatPrompt(self._ids_of(text), start, thinks)
        assert self.pictures is not None, "others have no pictures"
        ids = self._ids_of(with_pictures(text, self.pictures.placeholder, pictures))
        shown = [one.picture for one in pictures]
        return ChatPrompt(with_placeholders(ids, self.pictures.config.image_token_id, shown), start, thinks)

    def _ids_of(self, prompt: str) -> list[int]:
        return _beginning_once(self.tokenizer.encode(prompt, add_special=True), self.tokenizer.bos_id)

    @cached_property
    def _takes_strings(self) -> bool:
        assert self.chat_template is not None, "a conversation needs a template"
        return takes_strings(self.chat_template)


def _beginning_once(ids: list[int], bos_id: int | None) -> list[int]:
    """`ids` with exactly one leading `bos_id`."""
    num_extra = 0
    while ids[num_extra : num_extra + 2] == [bos_id, bos_id]:
        num_extra += 1
    return ids[num_extra:]


def load_text_model(path: Path, overrides: ModelOverrides = NO_OVERRIDES) -> TextModel:
    """The text side of the model in `path`, a directory or a GGUF file; ModelFileInvalid otherwise.

    Raises ConfigurationInvalid for `overrides` that name no known tool format, or an encoder for a directory.
    """
    mmproj = find_mmproj(path, overrides.mmproj)
    model = _from_gguf(path, mmproj, overrides) if path.is_file() else _from_directory(path, overrides)
    return replace(model, fingerprint=model_fingerprint(path, mmproj))


def _from_directory(directory: Path, overrides: ModelOverrides) -> TextModel:
    config = read_json_object(directory / "config.json")
    if isinstance(config.get("text_config"), dict):  # models that see images, too
        config |= config["text_config"]
    tokenizer_config = huggingface.optional_json(directory / "tokenizer_config.json")
    generation_config = huggingface.optional_json(directory / "generation_config.json")
    tokenizer = huggingface.tokenizer_from_json(
        directory / "tokenizer.json", tokenizer_config, ends_texts=(directory / POOLING_FILE).is_file()
    )
    vocab_size = config.get("vocab_size", tokenizer.vocab_size)
    if type(vocab_size) is not int or tokenizer.vocab_size > vocab_size:
        raise invalid(
            directory / "tokenizer.json",
            f"{tokenizer.vocab_size} tokens, the model's vocab_size is {vocab_size!r:.50}",
        )
    specials = huggingface.special_tokens(tokenizer_config)
    own = huggingface.template_source(directory, tokenizer_config)
    source = template_source(overrides) or own
    with_tools = huggingface.tool_template(tokenizer_config) if own and source == own else None
    chosen = tool_format(overrides)
    eos_id = tokenizer.id_of(specials["eos_token"]) if "eos_token" in specials else None
    return TextModel(
        name=repository_of(directory.resolve()) or directory.resolve().name,
        tokenizer=tokenizer,
        eos_ids=huggingface.end_ids(directory, [config, generation_config], tokenizer, eos_id)
        | fill_ends_of(tokenizer)
        | harmony_ends_of(tokenizer),
        max_context=_checked_context(
            directory / "config.json",
            "max_position_embeddings",
            context_of_json(config),
        ),
        chat=_chat_support(source, specials, tokenizer, chosen, with_tools),
        pictures=_pictures_of(directory, tokenizer),
    )


def _pictures_of(directory: Path, tokenizer: Tokenizer) -> PictureProcessor | None:
    config = picture_config_of(directory)
    if config is None or config.family not in SERVED_FAMILIES:
        return None
    from cactus_actors.vision.families import processor_of  # a model of text alone needs no Pillow

    return processor_of(config, tokenizer)


def _from_gguf(path: Path, mmproj: Path | None, overrides: ModelOverrides) -> TextModel:
    # imported here, because gguf and NumPy cost every process time and memory
    from cactus_actors.models.gguf_file import open_gguf
    from cactus_actors.text.gguf_tokenizer import tokenizer_from_gguf
    from cactus_actors.text.gguf_vocabulary import GGUFVocabulary

    file = open_gguf(path)
    vocabulary = GGUFVocabulary.of(file)
    source = file.metadata.get("tokenizer.chat_template")
    if source is not None and not isinstance(source, str):
        raise invalid(file.path, "tokenizer.chat_template must be a string")
    specials = vocabulary.special_tokens()
    key, context = context_of_gguf(file)
    tokenizer = tokenizer_from_gguf(file)
    place, source = template_source(overrides) or (file.path, source)
    chosen = tool_format(overrides)
    return TextModel(
        name=file.path.stem,
        tokenizer=tokenizer,
        eos_ids=vocabulary.end_ids() | fill_ends_of(tokenizer),
        max_context=_checked_context(file.path, key, context),
        chat=_chat_support((place, source) if source else None, specials, tokenizer, chosen),
        pictures=None if mmproj is None else _pictures_of_mmproj(mmproj, file, tokenizer),
    )


def _pictures_of_mmproj(mmproj: Path, file: GGUFFile, tokenizer: Tokenizer) -> PictureProcessor:
    from cactus_actors.models.mmproj_file import open_mmproj
    from cactus_actors.vision.families import processor_of
    from cactus_actors.vision.mmproj_configs import picture_config_of_mmproj

    return processor_of(picture_config_of_mmproj(open_mmproj(mmproj, file)), tokenizer)


def _chat_support(
    source: tuple[Path, str] | None,
    specials: Mapping[str, str],
    tokenizer: Tokenizer,
    tool_format: str | None,
    with_tools: str | None = None,
) -> ChatSupport:
    """The support of a chat template, and of one for tools if there is one."""
    if source is None:
        return ChatSupport()
    path, text = source
    template = ChatTemplate.compile(text, path, specials)
    tool_template = ChatTemplate.compile(with_tools, path, specials) if with_tools else None
    abilities = abilities_of(tool_template or template)
    markup = tool_format or markup_of(with_tools or text, tokenizer, is_for_tools=abilities.has_any)
    return ChatSupport(
        chat_template=template,
        tool_template=tool_template,
        abilities=abilities,
        is_for_tools=abilities.has_any or tool_format is not None,
        tool_markup=markup,
        tool_tokens=tool_tokens_of(markup, tokenizer),
        reasoning=reasoning_of(text, template, tokenizer),
    )


def _checked_context(path: Path, key: str, value: Any) -> int:
    if type(value) is not int or not 1 <= value <= MAX_CONTEXT:
        raise invalid(path, f"{key} is {value!r:.50}, not a number of tokens from 1 to {MAX_CONTEXT}")
    return value

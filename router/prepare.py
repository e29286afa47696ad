"""From what a client wrote to what a worker can run, or a typed error that names the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from cactus_actors.protocol.errors import ContextExceeded, InvalidRequest
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.params import resolve_options
from cactus_actors.protocol.worker_messages import CloudRequest
from router.job import Prepared
from router.prefix_index import block_hashes

MAX_CHARACTERS_PER_TOKEN = 64
"""No text this much longer than the context fits it: what is not worth spending tokenizer time on."""


class PromptTokenizer(Protocol):
    """The part of a tokenizer that is needed here."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def bos_id(self) -> int | None: ...

    def encode(self, text: str, *, add_special: bool, parse_special: bool = True) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


class PromptModel(Protocol):
    """The part of a TextModel that is needed here."""

    @property
    def name(self) -> str: ...

    @property
    def tokenizer(self) -> PromptTokenizer: ...

    @property
    def max_context(self) -> int: ...

    def encode_chat(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None = None
    ) -> list[int]: ...


def prepare(submit: Submit, model: PromptModel) -> Prepared:
    """The job of `submit`, its prompt as token ids and its options resolved.

    A service of one model takes any model name. Raises InvalidRequest and its kinds, with `param`.
    """
    prompt_ids = _prompt_ids(submit, model)
    field = "prompt" if submit.messages is None else "messages"
    if len(prompt_ids) >= model.max_context:
        raise ContextExceeded(
            f"the prompt has {len(prompt_ids)} tokens and the context {model.max_context}", param=field
        )
    params, policy = resolve_options(submit.options, context_left=model.max_context - len(prompt_ids))
    return Prepared(
        prompt_ids=prompt_ids,
        params=params,
        policy=policy,
        request=_cloud_request(submit, prompt_ids, model),
        model=submit.model or model.name,
        block_hashes=block_hashes(prompt_ids, policy.cache_salt) if params.cache_prompt else (),
    )


def _prompt_ids(submit: Submit, model: PromptModel) -> list[int]:
    if submit.prompt is not None and submit.messages is not None:
        raise InvalidRequest("prompt and messages were both given; send one", param="messages")
    if submit.messages is not None:
        return _chat_ids(submit, model)
    if submit.tools is not None:
        raise InvalidRequest("tools go with messages, not with a prompt", param="tools")
    if submit.prompt is None:
        raise InvalidRequest("prompt is required", param="prompt")
    if isinstance(submit.prompt, str):
        return _text_ids(submit.prompt, model)
    return _mixed_ids(submit.prompt, model)


def _chat_ids(submit: Submit, model: PromptModel) -> list[int]:
    messages = submit.messages or []
    if not messages:
        raise InvalidRequest("messages must not be empty", param="messages")
    turns = [msgspec.to_builtins(message) for message in messages]
    _check_length(_num_characters(turns), "messages", model)
    _check_length(_num_characters(submit.tools), "tools", model)
    return model.encode_chat(turns, submit.tools)


def _text_ids(prompt: str, model: PromptModel) -> list[int]:
    _check_length(len(prompt), "prompt", model)
    if prompt:
        return model.tokenizer.encode(prompt, add_special=True)
    if model.tokenizer.bos_id is None:
        raise InvalidRequest("prompt must not be empty: the model has no start token", param="prompt")
    return [model.tokenizer.bos_id]


def _mixed_ids(prompt: list[int | str], model: PromptModel) -> list[int]:
    """Ids as they are, strings tokenised; special tokens are added only before a string that comes first."""
    _check_length(_num_characters(prompt), "prompt", model)
    if len(prompt) > model.max_context:
        raise ContextExceeded(
            f"{len(prompt)} parts cannot fit a context of {model.max_context} tokens", param="prompt"
        )
    ids: list[int] = []
    for index, part in enumerate(prompt):
        if isinstance(part, str):
            ids += model.tokenizer.encode(part, add_special=index == 0)
        elif 0 <= part < model.tokenizer.vocab_size:
            ids.append(part)
        else:
            raise InvalidRequest(
                f"prompt[{index}] is {part}, token ids are 0 to {model.tokenizer.vocab_size - 1}",
                param="prompt",
            )
    if not ids:
        raise InvalidRequest("prompt must not be empty", param="prompt")
    return ids


def _num_characters(value: Any) -> int:
    """Of all text in plain data, however deep."""
    total, pending = 0, [value]
    while pending:
        match pending.pop():
            case str() as text:
                total += len(text)
            case list() as items:
                pending += items
            case dict() as fields:
                pending += fields.keys()
                pending += fields.values()
    return total


def _check_length(num_characters: int, field: str, model: PromptModel) -> None:
    if num_characters > model.max_context * MAX_CHARACTERS_PER_TOKEN:
        raise ContextExceeded(
            f"{num_characters} characters cannot fit a context of {model.max_context} tokens", param=field
        )


def _cloud_request(submit: Submit, prompt_ids: list[int], model: PromptModel) -> CloudRequest:
    if submit.messages is not None:
        return CloudRequest(messages=submit.messages, tools=submit.tools)
    if isinstance(submit.prompt, str):
        return CloudRequest(prompt=submit.prompt)
    return CloudRequest(prompt=model.tokenizer.decode(prompt_ids))

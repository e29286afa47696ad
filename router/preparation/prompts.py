"""Tokenizes prompts of text and token ids."""

from __future__ import annotations

from cactus_actors.protocol.errors import ContextExceeded, InvalidRequest
from cactus_actors.router.preparation.length_limits import check_length
from cactus_actors.router.preparation.prompt_model import PromptModel

Prompt = str | list[int | str]


def prompt_ids(prompt: Prompt, model: PromptModel) -> list[int]:
    """The ids of a prompt; an empty text becomes the start token, if the model has one."""
    check_length(prompt, "prompt", model)
    if not isinstance(prompt, str):
        return _mixed_ids(prompt, model)
    if prompt:
        return model.tokenizer.encode(prompt, add_special=True)
    if model.tokenizer.bos_id is None:
        raise InvalidRequest("prompt must not be empty: the model has no start token", param="prompt")
    return [model.tokenizer.bos_id]


def filling_ids(prompt: Prompt, suffix: str, model: PromptModel) -> list[int]:
    """The ids of a fill-in-the-middle prompt: prefix, suffix, middle.

    Control tokens in the texts of `prompt` and `suffix` are read as plain text.
    """
    if model.fill_tokens is None:
        raise InvalidRequest(f"the model {model.name} has no tokens for filling in before a suffix", param="suffix")
    check_length([prompt, suffix], "suffix", model)
    encode = model.tokenizer.encode
    if isinstance(prompt, str):
        before = encode(prompt, add_special=False, parse_special=False)
    else:
        before = _mixed_ids(prompt, model, add_special=False)
    after = encode(suffix, add_special=False, parse_special=False)
    prefix_id, suffix_id, middle_id = model.fill_tokens
    return [*encode("", add_special=True), prefix_id, *before, suffix_id, *after, middle_id]


def _mixed_ids(prompt: list[int | str], model: PromptModel, *, add_special: bool = True) -> list[int]:
    """Ids as they are, strings tokenised; special tokens are added only before a string that comes first."""
    if len(prompt) > model.max_context:
        raise ContextExceeded(f"{len(prompt)} parts cannot fit a context of {model.max_context} tokens", param="prompt")
    ids: list[int] = []
    for index, part in enumerate(prompt):
        if isinstance(part, str):
            ids += model.tokenizer.encode(part, add_special=add_special and index == 0)
        elif 0 <= part < model.tokenizer.vocab_size:
            ids.append(part)
        else:
            raise InvalidRequest(
                f"prompt[{index}] is {part!s:.40}, token ids are 0 to {model.tokenizer.vocab_size - 1}",
                param="prompt",
            )
    if not ids:
        raise InvalidRequest("prompt must not be empty", param="prompt")
    return ids

"""The tokenizer and chat template of a Hugging Face model directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tokenizers

from cactus_actors.models.checked_files import invalid, parse_json_object, read_bytes, read_json_object
from cactus_actors.text.tokenizer import (
    Tokenizer,
    byte_level_bytes,
    byte_of_character,
    guarded,
    sentencepiece_bytes,
)

MAX_TOKENIZER_BYTES = 128 << 20


def optional_json(path: Path) -> dict[str, Any]:
    """The JSON object in `path`, an empty one if there is no such file."""
    return read_json_object(path) if path.is_file() else {}


def tokenizer_from_json(path: Path, tokenizer_config: Mapping[str, Any], *, ends_texts: bool = False) -> Tokenizer:
    """The tokenizer in a tokenizer.json; ModelFileInvalid if it is corrupt or of an unsupported kind.

    With `ends_texts` the tokens that it appends to a text are kept: embedding models read them.
    """
    content = read_bytes(path, max_bytes=MAX_TOKENIZER_BYTES)
    description = parse_json_object(path, content)
    inner = guarded(path, "not a usable tokenizer", lambda: tokenizers.Tokenizer.from_str(content.decode()))
    inner.no_padding()  # to any width
    inner.no_truncation()
    decoders = set(_types(description.get("decoder")))
    byte_level = "ByteLevel" in decoders
    if not byte_level and not decoders & {"Metaspace", "Replace"}:
        raise invalid(path, f"decoder {sorted(decoders)}; supported: ByteLevel, Metaspace, Replace")
    vocabulary = inner.get_vocab(with_added_tokens=True)
    added = inner.get_added_tokens_decoder()
    table = byte_of_character()
    token_bytes = [b""] * _vocab_size(path, vocabulary)
    for token, token_id in vocabulary.items():
        if token_id in added:
            token_bytes[token_id] = b"" if added[token_id].special else token.encode()
        else:
            token_bytes[token_id] = byte_level_bytes(token, table) if byte_level else sentencepiece_bytes(token)
    first_id, last_id = _special_ids_around(path, inner)
    bos_text = token_text(tokenizer_config.get("bos_token"))
    add_bos = tokenizer_config.get("add_bos_token")
    return Tokenizer(
        inner,
        token_bytes=token_bytes,
        special_ids=[token_id for token_id, token in added.items() if token.special],
        bos_id=inner.token_to_id(bos_text) if bos_text is not None else first_id,
        add_bos=add_bos if isinstance(add_bos, bool) else first_id is not None,
        byte_level=byte_level,
        end_id=last_id if ends_texts else None,
    )


def token_text(value: Any) -> str | None:
    """The text of a token as tokenizer_config.json writes it: a string, or an object with `content`."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else None


def special_tokens(tokenizer_config: Mapping[str, Any]) -> dict[str, str]:
    """Name -> text of the special tokens that a chat template may use."""
    names = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token")
    texts = {name: token_text(tokenizer_config.get(name)) for name in names}
    return {name: text for name, text in texts.items() if text is not None}


def end_ids(path: Path, configs: list[Mapping[str, Any]], tokenizer: Tokenizer, eos_id: int | None) -> frozenset[int]:
    """The tokens that end generation, by `eos_token_id` of every config and by `eos_id`."""
    ids: set[Any] = set() if eos_id is None else {eos_id}
    for config in configs:
        declared = config.get("eos_token_id")
        for token_id in declared if isinstance(declared, list) else [declared]:
            if token_id is None:
                continue
            if type(token_id) is not int or not 0 <= token_id < tokenizer.vocab_size:
                raise invalid(path, f"eos_token_id {token_id!r:.50} is not one of the {tokenizer.vocab_size} tokens")
            ids.add(token_id)
    return frozenset(ids)


def template_source(directory: Path, tokenizer_config: Mapping[str, Any]) -> tuple[Path, str] | None:
    """The file and text of the chat template, None if the model has none."""
    path = directory / "chat_template.jinja"
    if path.is_file():
        try:
            return path, read_bytes(path, max_bytes=4 << 20).decode("utf-8")
        except UnicodeDecodeError as error:
            raise invalid(path, "not valid UTF-8") from error
    path = directory / "tokenizer_config.json"
    declared = tokenizer_config.get("chat_template")
    if isinstance(declared, list):
        declared = _named_templates(declared).get("default")
    if declared is None:
        return None
    if not isinstance(declared, str):
        raise invalid(path, "chat_template must be a string, or a list with an entry named default")
    return path, declared


def tool_template(tokenizer_config: Mapping[str, Any]) -> str | None:
    """The chat template for conversations with tools, if a model has a separate one."""
    declared = tokenizer_config.get("chat_template")
    template = _named_templates(declared).get("tool_use") if isinstance(declared, list) else None
    return template if isinstance(template, str) else None


def _named_templates(declared: list[Any]) -> dict[str, Any]:
    named = [entry for entry in declared if isinstance(entry, dict) and isinstance(entry.get("name"), str)]
    return {entry["name"]: entry.get("template") for entry in named}


def _types(component: Any) -> Iterator[str]:
    """The types of a tokenizer component and of the ones inside it."""
    if isinstance(component, dict):
        if isinstance(component.get("type"), str):
            yield component["type"]
        decoders = component.get("decoders")
        for inner in decoders if isinstance(decoders, list) else ():
            yield from _types(inner)


def _vocab_size(path: Path, vocabulary: Mapping[str, int]) -> int:
    size = max(vocabulary.values(), default=-1) + 1
    if not vocabulary or size > 4 * len(vocabulary) + 1024:
        raise invalid(path, f"{len(vocabulary)} tokens with ids up to {size - 1}")
    return size


def _special_ids_around(path: Path, inner: tokenizers.Tokenizer) -> tuple[int | None, int | None]:
    """The tokens that the tokenizer itself puts before and after a text; None for none."""
    probe = guarded(path, "not a usable tokenizer", lambda: inner.encode("a", add_special_tokens=True))
    is_special = probe.special_tokens_mask
    return probe.ids[0] if is_special[:1] == [1] else None, probe.ids[-1] if is_special[-1:] == [1] else None

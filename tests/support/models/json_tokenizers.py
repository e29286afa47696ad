"""A byte-level tokenizer of a few words, and model directories that hold one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from cactus_actors.text import TextModel, load_text_model
from cactus_actors.text.tokenizer import byte_of_character

BYTE_LEVEL_WORDS = ["he", "ll", "hell", "hello", "\u0120w", "\u0120wo"]
BYTE_LEVEL_MERGES = ["h e", "l l", "he ll", "hell o", "\u0120 w", "\u0120w o"]


def byte_level_tokens() -> list[str]:
    characters = sorted(byte_of_character(), key=byte_of_character().__getitem__)
    return ["<|end|>", "<|start|>", *characters, *BYTE_LEVEL_WORDS]


def make_json_tokenizer() -> tokenizers.Tokenizer:
    tokens = byte_level_tokens()
    merges = [tuple(merge.split(" ")) for merge in BYTE_LEVEL_MERGES]
    inner = tokenizers.Tokenizer(
        models.BPE({token: i for i, token in enumerate(tokens)}, merges)  # type: ignore[arg-type]
    )
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens([AddedToken("<|end|>", special=True), AddedToken("<|start|>", special=True)])
    inner.add_tokens([AddedToken("<tool>", special=False)])
    return inner


def write_directory(
    directory: Path,
    inner: tokenizers.Tokenizer,
    tokenizer_config: dict[str, Any] | None = None,
    generation_config: dict[str, Any] | None = None,
    **config: Any,
) -> Path:
    directory.mkdir(exist_ok=True)
    inner.save(str(directory / "tokenizer.json"))
    sizes = {"vocab_size": inner.get_vocab_size(), "max_position_embeddings": 128}
    (directory / "config.json").write_text(json.dumps(sizes | config))
    (directory / "tokenizer_config.json").write_text(json.dumps(tokenizer_config or {}))
    if generation_config is not None:
        (directory / "generation_config.json").write_text(json.dumps(generation_config))
    return directory


CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<me>{% endif %}"


def load_model(directory: Path, *special: str, template: str = CHAT) -> TextModel:
    inner = tokenizers.Tokenizer(models.BPE({c: i for i, c in enumerate(byte_of_character())}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens([AddedToken(text, special=True) for text in special])
    inner.save(str(directory / "tokenizer.json"))
    (directory / "config.json").write_text(json.dumps({"vocab_size": 400, "eos_token_id": 5}))
    (directory / "chat_template.jinja").write_text(template)
    return load_text_model(directory)


def write_changed(directory: Path, **changes: Any) -> Path:
    """A directory whose tokenizer.json has other components."""
    path = write_directory(directory, make_json_tokenizer())
    description = json.loads((path / "tokenizer.json").read_text())
    (path / "tokenizer.json").write_text(json.dumps(description | changes))
    return path

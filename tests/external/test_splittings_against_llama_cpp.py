"""Pre-tokenization of byte-level vocabularies of every name, here and by llama.cpp, on random texts.

llama-cpp-python must be installed. The vocabulary is learned from whole texts, so that its tokens span
words, and every other split is another list of tokens.
"""

from __future__ import annotations

import ctypes
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import gguf
import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.text.gguf_tokenizer import tokenizer_from_gguf
from cactus_actors.text.pre_tokenizers import SPLITTINGS
from cactus_actors.text.tokenizer import byte_of_character

llama_cpp = pytest.importorskip("llama_cpp")

ATOMS = [
    *(
        " ",
        "  ",
        "   ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        " \n ",
        "a",
        "the",
        "The",
        "HELLO",
        "helloWorld",
        "XMLHttp",
    ),
    *(
        "don't",
        "I'LL",
        "it's",
        "'s",
        "'S",
        "12",
        "3",
        "1234",
        "12345",
        "1,234.56",
        "0x1F",
        "\u00bd",
        "\u00b2",
    ),
    *(
        "\u0663\u0664",
        "\uff11\uff12",
        "!",
        "?",
        "!!",
        "...",
        "-",
        "_",
        "a_b",
        "(",
        ")",
        "[",
        "<",
        "=",
        "==",
        "+",
    ),
    *("$", "^", "|", "~", "`", "@", "#", "%", "&", "*", "/", "\\", "//", '"', "\u2018", "\u201d", "\u2026"),
    *(
        "\uff0c",
        "\u3002",
        "\u3001",
        "\uff01",
        "\u00e9",
        "e\u0301",
        "\u00df",
        "\u03bb\u03cc\u03b3\u03bf\u03c2",
    ),
    *(
        "\u043c\u0438\u0440",
        "\u05e9\u05dc\u05d5\u05dd",
        "\u0939\u093f\u0928\u094d\u0926\u0940",
        "\u0e44\u0e17",
    ),
    *(
        "\u6f22\u5b57",
        "\u3072\u3089",
        "\u30ab\u30bf",
        "\ud55c\uad6d",
        "\u3131",
        "\u3105",
        "\U0001f335",
        "\u00a0",
    ),
    *("\u2003", "\u3000", "\u200b", "\u0300", "\u13a0", "\u02b0", "\u00aa", "\u01c5", "\U00010400", "x=1;"),
]
NUM_TEXTS = 1500


def with_wide_spaces(text: str) -> bool:
    return any(character.isspace() and character > "\u007f" for character in text)


def with_numbers(text: str) -> bool:
    return any(unicodedata.category(character).startswith("N") for character in text)


def with_foreign_letters(text: str) -> bool:
    return any(unicodedata.category(character)[0] in "LM" and character > "\u007f" for character in text)


def with_inner_capitals(text: str) -> bool:
    return with_foreign_letters(text) or re.search("[a-z][A-Z]", text) is not None


CASED = ("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2", "tekken", "granite-embed-multi-97m")
SIMPLIFIED: dict[str, Callable[[str], bool]] = {
    **dict.fromkeys(CASED, with_foreign_letters),
    **dict.fromkeys(("kimi-k2", "youtu"), with_inner_capitals),
    **dict.fromkeys(("tiny_aya", "cohere2moe"), lambda text: with_inner_capitals(text) or with_numbers(text)),
    **dict.fromkeys(("deepseek-llm", "deepseek-coder"), lambda text: with_wide_spaces(text) or with_numbers(text)),
    "superbpe": with_numbers,
}
"""Texts that llama.cpp's own expressions split differently from those of the models' tokenizer.json."""


def random_texts(seed: int, number: int) -> Iterator[str]:
    random = Random(seed)
    for _ in range(number):
        yield "".join(random.choice(ATOMS) for _ in range(random.randint(1, 9)))


@pytest.fixture(scope="module")
def learned() -> tuple[list[str], list[str]]:
    """Tokens and merges that span words."""
    trained = tokenizers.Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(vocab_size=6000, initial_alphabet=list(byte_of_character()), show_progress=False)
    trained.train_from_iterator(random_texts(0, 20_000), trainer)
    model = json.loads(trained.to_str())["model"]
    merges = [" ".join(merge) if isinstance(merge, list) else merge for merge in model["merges"]]
    return sorted(model["vocab"], key=model["vocab"].get), merges


def write_vocabulary(path: Path, name: str, tokens: list[str], merges: list[str]) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(name)
    writer.add_token_list(["<|end|>", *tokens])
    writer.add_token_types([3] + [1] * len(tokens))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class Witness:
    """llama.cpp's tokenizer of one file."""

    def __init__(self, path: Path) -> None:
        parameters = llama_cpp.llama_model_default_params()
        parameters.vocab_only = True
        self._model = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
        self._vocabulary: Any = llama_cpp.llama_model_get_vocab(self._model)

    def encode(self, text: str) -> list[int]:
        content = text.encode()
        room = len(content) + 8
        ids = (ctypes.c_int32 * room)()
        number = llama_cpp.llama_tokenize(self._vocabulary, content, len(content), ids, room, False, False)
        return list(ids[:number])


@pytest.mark.parametrize("name", [name for name in SPLITTINGS if name != "gpt2"])  # it does not know this one
def test_a_pre_tokenizer_splits_like_llama_cpp(name: str, learned: tuple[list[str], list[str]], tmp_path: Path) -> None:
    path = write_vocabulary(tmp_path / "m.gguf", name, *learned)
    tokenizer, witness = tokenizer_from_gguf(open_gguf(path)), Witness(path)
    is_split_otherwise = SIMPLIFIED.get(name, lambda _: False)
    texts = [text for text in random_texts(1, NUM_TEXTS) if not is_split_otherwise(text)]
    assert len(texts) > NUM_TEXTS / 10
    for text in texts:
        assert tokenizer.encode(text, add_special=False, parse_special=False) == witness.encode(text), repr(text)

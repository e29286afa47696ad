"""The vocabularies of embedding models in GGUF files: WordPiece (`bert`) and unigram (`t5`)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.text import Tokenizer
from cactus_actors.text.gguf_tokenizer import tokenizer_from_gguf
from tests.support.models.embedding_vocabularies import UNIGRAMS, WORD_PIECES, character_map
from tests.support.models.gguf_tokenizers import write_vocabulary

NORMAL, UNKNOWN, CONTROL = 1, 2, 3


def word_piece(path: Path, **changes: Any) -> Tokenizer:
    types = [CONTROL] * 4 + [NORMAL] * (len(WORD_PIECES) - 4)
    keys = {
        "unknown_token_id": 1,
        "cls_token_id": 2,
        "seperator_token_id": 3,
        "padding_token_id": 0,
    } | changes
    keys = {key: value for key, value in keys.items() if value is not None}
    return tokenizer_from_gguf(open_gguf(write_vocabulary(path, "bert", WORD_PIECES, types, **keys)))


def unigram(path: Path, **changes: Any) -> Tokenizer:
    kinds = {"<pad>": CONTROL, "</s>": CONTROL, "<s>": CONTROL, "<unk>": UNKNOWN}
    keys = {
        "scores": list(UNIGRAMS.values()),
        "unknown_token_id": 2,
        "eos_token_id": 1,
        "bos_token_id": 11,
        "add_space_prefix": True,
        "remove_extra_whitespaces": True,
    } | changes
    keys = {key: value for key, value in keys.items() if value is not None}
    types = [kinds.get(token, NORMAL) for token in UNIGRAMS]
    return tokenizer_from_gguf(open_gguf(write_vocabulary(path, "t5", list(UNIGRAMS), types, **keys)))


def tokens_of(tokenizer: Tokenizer, text: str, **options: bool) -> list[str | None]:
    ids = tokenizer.encode(text, **{"add_special": False, **options})
    return [tokenizer.token_of(token_id) for token_id in ids]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("unaffable", ["\u2581un", "aff", "able"]),
        ("  Hello,\n HÉLLO!", ["\u2581hello", "\u2581,", "\u2581hello", "\u2581!"]),
        ("hell hello", ["\u2581hell", "\u2581hello"]),
        ("unhello a", ["[UNK]", "\u2581a"]),
        ("able", ["[UNK]"]),
        ("a\u6f22a", ["\u2581a", "\u2581\u6f22", "\u2581a"]),
        ("a\u0000\u200da", ["\u2581a", "a"]),
        ("a" * 100, ["\u2581a", *["a"] * 99]),
        ("a" * 101, ["[UNK]"]),
        ("", []),
    ],
)
def test_words_are_split_into_the_longest_pieces(tmp_path: Path, text: str, tokens: list[str]) -> None:
    assert tokens_of(word_piece(tmp_path / "m.gguf"), text) == tokens


def test_control_tokens_enclose_a_text_of_word_pieces(tmp_path: Path) -> None:
    tokenizer = word_piece(tmp_path / "m.gguf")
    assert tokenizer.encode("hello", add_special=True) == [2, 7, 3]
    assert tokenizer.encode("", add_special=True) == [2, 3]
    assert tokenizer.decode([2, 4, 5, 6, 10, 3]) == " unaffable ,"
    assert word_piece(tmp_path / "n.gguf", add_sep_token=False).encode("a", add_special=True) == [2, 16]
    assert word_piece(tmp_path / "o.gguf", bos_token_id=0).encode("a", add_special=True) == [0, 16, 3]


def test_control_tokens_in_a_text_are_text_unless_parsed(tmp_path: Path) -> None:
    tokenizer = word_piece(tmp_path / "m.gguf")
    assert tokens_of(tokenizer, "a[SEP]a") == ["\u2581a", "[SEP]", "\u2581a"]
    expected = ["\u2581a", "\u2581[", "\u2581sep", "\u2581]", "\u2581a"]
    assert tokens_of(tokenizer, "a[SEP]a", parse_special=False) == expected


def test_case_and_accents_are_kept_if_the_file_requires_it(tmp_path: Path) -> None:
    cased = word_piece(tmp_path / "m.gguf", normalizer__lowercase=False)
    assert tokens_of(cased, "Un un UN") == ["\u2581Un", "\u2581un", "[UNK]"]
    assert tokens_of(cased, "hell\u00f3") == ["[UNK]"]
    plain = word_piece(tmp_path / "n.gguf", normalizer__lowercase=False, normalizer__strip_accents=True)
    assert tokens_of(plain, "hell\u00f3 Un") == ["\u2581hello", "\u2581Un"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("ab", ["\u2581ab"]),
        ("abc", ["\u2581ab", "c"]),  # -4.2 - 3.0, less than any other way
        ("bc", ["\u2581", "bc"]),
        ("  a   b ", ["\u2581a", "\u2581", "b"]),
        ("axxb", ["\u2581a", "<unk>", "b"]),
        ("", []),
        ("   ", []),
    ],
)
def test_a_text_is_split_with_the_best_sum_of_scores(tmp_path: Path, text: str, tokens: list[str]) -> None:
    assert tokens_of(unigram(tmp_path / "m.gguf"), text) == tokens


def test_spaces_are_kept_if_the_file_requires_it(tmp_path: Path) -> None:
    tokenizer = unigram(tmp_path / "m.gguf", remove_extra_whitespaces=False)
    assert tokens_of(tokenizer, " a  b ") == ["\u2581", "\u2581a", "\u2581", "\u2581", "b", "\u2581"]
    tokenizer = unigram(tmp_path / "n.gguf", add_space_prefix=None)
    assert tokens_of(tokenizer, "ab a") == ["ab", "\u2581a"]


def test_control_tokens_enclose_a_unigram_text(tmp_path: Path) -> None:
    assert unigram(tmp_path / "m.gguf").encode("ab", add_special=True) == [9, 1]
    both = unigram(tmp_path / "n.gguf", add_bos_token=True)
    assert both.encode("ab", add_special=True) == [11, 9, 1]
    assert both.encode("<s>ab</s>", add_special=True) == [11, 9, 1]
    assert "<s>" not in tokens_of(both, "<s>ab", parse_special=False)
    neither = unigram(tmp_path / "o.gguf", add_eos_token=False)
    assert neither.encode("ab", add_special=True) == [9]
    assert neither.decode([9, 4, 2]) == " aba"


def test_characters_are_replaced_by_the_character_map(tmp_path: Path) -> None:
    tokenizer = unigram(tmp_path / "m.gguf", precompiled_charsmap=character_map({"A": "ab", "\n": " "}))
    assert tokens_of(tokenizer, "A\nA") == ["\u2581ab", "\u2581ab"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"scores": [0.0, 1.0]}, "scores"),
        ({"scores": [float("inf")] * len(UNIGRAMS)}, "scores"),
        ({"scores": [float("nan")] * len(UNIGRAMS)}, "scores"),
        ({"unknown_token_id": None}, "unknown_token_id"),
        ({"unknown_token_id": 900}, "unknown_token_id"),
        ({"eos_token_id": 900}, "eos_token_id"),
        ({"add_space_prefix": 1}, "add_space_prefix"),
        ({"precompiled_charsmap": "text"}, "precompiled_charsmap"),
        ({"precompiled_charsmap": b"\xff\xff\xff\xff"}, "precompiled_charsmap"),
        ({"precompiled_charsmap": b"\x08\0\0\0\0"}, "precompiled_charsmap"),
        ({"precompiled_charsmap": character_map({"A": "b"})[:-2]}, "no character of the texts"),
        ({"precompiled_charsmap": character_map({"A": "b"})[:-2] + b"\xff\0"}, "not valid UTF-8"),
        ({"precompiled_charsmap": struct.pack("<II", 4, 256 << 10) + b"b\0"}, "beyond the array"),
    ],
)
def test_a_unigram_vocabulary_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ModelFileInvalid, match=named):
        unigram(tmp_path / "m.gguf", **changes)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"unknown_token_id": None}, "unknown_token_id"),
        ({"seperator_token_id": 900}, "seperator_token_id"),
        ({"cls_token_id": 900}, "cls_token_id"),
        ({"normalizer__lowercase": "yes"}, r"normalizer\.lowercase"),
        ({"add_sep_token": 1}, "add_sep_token"),
    ],
)
def test_a_word_piece_vocabulary_that_does_not_fit_is_refused(
    tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(ModelFileInvalid, match=named):
        word_piece(tmp_path / "m.gguf", **changes)

"""Requirements of each model family's GGUF files: pre-tokenization, spaces, ends of turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import pytest

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.text import Tokenizer, load_text_model
from cactus_actors.text.gguf_tokenizer import tokenizer_from_gguf
from cactus_actors.text.pre_tokenizers import SPLITTINGS
from cactus_actors.text.tokenizer import byte_of_character

UNKNOWN, CONTROL, USER_DEFINED, NORMAL, BYTE = 2, 3, 4, 1, 6


def write_vocabulary(path: Path, model: str, tokens: dict[str, int], architecture: str = "llama", **keys: Any) -> Path:
    """A GGUF file of vocabulary only; `tokens` maps each token to its type."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(64)
    writer.add_tokenizer_model(model)
    writer.add_token_list(list(tokens))
    writer.add_token_types(list(tokens.values()))
    for key, value in keys.items():
        writer.add_key_value(f"tokenizer.ggml.{key}", value, *value_types(value))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def value_types(value: Any) -> tuple[Any, ...]:
    if isinstance(value, list):
        return gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.get_type(value[0])
    return (gguf.GGUFValueType.UINT32 if type(value) is int else gguf.GGUFValueType.get_type(value),)


def sentencepiece(path: Path, extra: dict[str, int], architecture: str = "llama", **keys: Any) -> Tokenizer:
    """The tokenizer of a vocabulary of letters, bytes and `extra`, joined in the order of `extra`."""
    tokens = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL}
    tokens |= {f"<0x{byte:02X}>": BYTE for byte in range(256)}
    tokens |= dict.fromkeys(["\u2581", *"abcdehilnort"], NORMAL) | extra
    scores = [-float(number) for number in range(len(tokens))]
    path = write_vocabulary(path, "llama", tokens, architecture, scores=scores, bos_token_id=1, **keys)
    return tokenizer_from_gguf(open_gguf(path))


def byte_level(path: Path, words: list[str], merges: list[str], **keys: Any) -> Tokenizer:
    tokens = {"<|start|>": CONTROL} | dict.fromkeys([*byte_of_character(), *words], NORMAL)
    path = write_vocabulary(path, "gpt2", tokens, merges=merges, bos_token_id=0, **keys)
    return tokenizer_from_gguf(open_gguf(path))


def texts_of(tokenizer: Tokenizer, text: str) -> list[str]:
    return [tokenizer.decode([token_id]) for token_id in tokenizer.encode(text, add_special=False)]


# Pieces by the pattern in each model's tokenizer.json, worked out by hand.
SPLIT_TEXTS = {
    "gpt-2": [
        ("it's 1234 x!!\n\n  y", ["it", "'s", " 1234", " x", "!!", "\n\n ", " y"]),
        ("IT'S (ok)", ["IT", "'", "S", " (", "ok", ")"]),
        ("tail \n", ["tail", " \n"]),
    ],
    "smollm": [("a 1234.5", ["a", " ", "1", "2", "3", "4", ".", "5"])],
    "default": [("x=$12345, it's", ["x", "=$", "123", "45", ",", " it", "'", "s"])],
    "llama-bpe": [
        ("IT'S 12345 (ok)\n\n\tz", ["IT", "'S", " ", "123", "45", " (", "ok", ")\n\n", "\tz"]),
        ("a  b \n c", ["a", " ", " b", " \n", " c"]),
        ("don't", ["don", "'t"]),
    ],
    "qwen2": [("IT'S 123 (ok)\n", ["IT", "'S", " ", "1", "2", "3", " (", "ok", ")\n"])],
    "gpt-4o": [
        ("don't SHOUTLoud camelCase 1234", ["don't", " SHOUTLoud", " camel", "Case", " ", "123", "4"]),
        ("a/b!!/\nc", ["a", "/b", "!!/\n", "c"]),
    ],
    "tekken": [("don't camelCase 12 ok!/", ["don", "'t", " camel", "Case", " ", "1", "2", " ok", "!/"])],
    "qwen35": [("हिन्दी 12 e\u0301x!\n", ["हिन्दी", " ", "1", "2", " e\u0301x", "!\n"])],
    "deepseek-llm": [
        (
            "it's 123 (ok)\n漢字x ",
            ["it", "'", "s", " ", "1", "2", "3", " (", "ok", ")", "\n", "漢字", "x", " "],
        ),
        (" λ!? 「a」", [" λ", "!?", " ", "「", "a", "」"]),
    ],
    "deepseek-coder": [
        ("it's 12,\nかな x+1 ok", ["it", "'", "s", " ", "1", "2", ",", "\n", "かな", " x", "+", "1", " ok"])
    ],
    "deepseek-v3": [("x=1234 foo.bar\n\n漢字 'a", ["x", "=", "123", "4", " foo", ".bar", "\n\n", "漢字", " '", "a"])],
    "falcon": [("a `b` 12345, it's", ["a", " ", "`", "b", "`", " ", "123", "45", ",", " it", "'", "s"])],
    "minicpm5": [("IT'S 12345 ok\n", ["IT", "'S", " ", "123", "45", " ok", "\n"])],
    "youtu": [("漢字한글abc's 12!/", ["漢字", "한글", "abc's", " ", "1", "2", "!/"])],
    "jais-2": [("a       b  c", ["a", "    ", "  ", " b", " ", " c"])],
    "bloom": [("Hi, you (x) a|b 12", ["Hi", ",", " you", " (", "x", ")", " a", "|", "b", " 12"])],
    "viking": [("Hi, ab12", ["Hi", ",", " ab", "1", "2"])],
    "chameleon": [("a\n  12, IMGIMGAZ", ["a", "\n", "  ", "1", "2", ",", " ", "IMGIMGAZ"])],
    "seed-coder": [("ok!!\n\nx 12", ["ok", "!!", "\n\n", "x", " ", "1", "2"])],
    "bailingmoe": [("we'RE 12 ok!\n\n\nx", ["we", "'RE", " ", "1", "2", " ok", "!\n\n\n", "x"])],
    "exaone-moe": [("가 나 다 12 ok!/\n\nx", ["가 나 다", " ", "1", "2", " ok", "!/\n", "\n", "x"])],
    "laguna": [("a\n\nb 12 it's\n", ["a", "\n\n", "b", " ", "1", "2", " it", "'s", "\n"])],
    "superbpe": [("by the 1234567 way", ["by the ", "1", "234", "567", " way"])],
    "tiny_aya": [("1234567 don't aB", ["1", "234", "567", " don't", " a", "B"])],
    "kimi-k2": [("漢字abCd's 1234\n", ["漢字", "ab", "Cd's", " ", "123", "4", "\n"])],
    "ufakzeka": [("Ankara'da 12", ["Ankara", "'da", " ", "1", "2"])],
    "spark2_5": [("foo.bar 12\n\nx", ["foo", ".bar", " ", "1", "2", "\n", "\n", "x"])],
}
ALIKE = {
    "llama3": "llama-bpe",
    "llama-v3": "llama-bpe",
    "lfm2": "llama-bpe",
    "smaug-bpe": "llama-bpe",
    "dbrx": "llama-bpe",
    "deepseek-r1-qwen": "qwen2",
    "phi-2": "gpt-2",
    "exaone4": "gpt-2",
    "minerva-7b": "smollm",
    "falcon-h1": "llama-bpe",
    "pixtral": "llama-bpe",
    "glm4": "llama-bpe",
    "chatglm-bpe": "llama-bpe",
    "megrez": "qwen2",
    "hunyuan": "qwen2",
    "llama4": "gpt-4o",
    "hunyuan-dense": "deepseek-v3",
    "poro-chat": "bloom",
    "llada-moe": "bailingmoe",
}


@pytest.mark.parametrize("name", [*SPLIT_TEXTS, *ALIKE])
def test_text_is_split_by_the_named_pre_tokenizer(name: str) -> None:
    splitter = SPLITTINGS[name].pre_tokenizer()
    for text, pieces in SPLIT_TEXTS[ALIKE.get(name, name)]:
        found = [text[start:end] for _, (start, end) in splitter.pre_tokenize_str(text)]
        assert found == pieces


@pytest.mark.parametrize("name", SPLITTINGS)
def test_every_pre_tokenizer_keeps_every_character(tmp_path: Path, name: str) -> None:
    tokenizer = byte_level(tmp_path / "m.gguf", ["ab"], ["a b"], pre=name)
    for text in ("", " ", "it's ABab\u0301 \u00a0\u0663\u0664\u0665\u0666 漢字!\r\n\n\t x/\n", "\n\n", "  '"):
        assert tokenizer.decode(tokenizer.encode(text, add_special=False)) == text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, ["abab"]) for name in ("llama-bpe", "lfm2", "tekken", "glm4", "minicpm5", "youtu")),
        *((name, ["ab", "ab"]) for name in ("qwen2", "qwen35", "chatglm-bpe", "deepseek-llm", "falcon")),
    ],
)
def test_whole_words_are_looked_up_if_the_model_requires_it(tmp_path: Path, name: str, expected: list[str]) -> None:
    tokenizer = byte_level(tmp_path / "m.gguf", ["ab", "abab"], ["a b"], pre=name)
    assert texts_of(tokenizer, "abab") == expected


@pytest.mark.parametrize(
    ("name", "begins"),
    [("llama-bpe", True), ("tekken", True), ("lfm2", True), ("qwen2", False), ("gpt-2", False)],
)
def test_start_tokens_and_spaces_follow_the_file(tmp_path: Path, name: str, begins: bool) -> None:
    tokenizer = byte_level(tmp_path / "m.gguf", ["ab"], ["a b"], pre=name)
    assert tokenizer.encode("ab", add_special=True)[:-1] == ([0] if begins else [])
    tokenizer = byte_level(tmp_path / "n.gguf", ["ab"], ["a b"], pre=name, add_bos_token=not begins)
    assert tokenizer.encode("ab", add_special=True)[:-1] == ([] if begins else [0])


def test_a_file_without_a_pre_tokenizer_name_is_read(tmp_path: Path) -> None:
    tokenizer = byte_level(tmp_path / "m.gguf", ["12", "34"], ["1 2", "3 4"])
    assert texts_of(tokenizer, "1234") == ["12", "3", "4"], "digits by three, then merged"


def test_an_unknown_pre_tokenizer_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ModelFileInvalid, match=r"m\.gguf: tokenizer\.ggml\.pre is 'made-up'; supported: .*qwen2"):
        byte_level(tmp_path / "m.gguf", ["ab"], ["a b"], pre="made-up")


def test_llama_begins_every_text_with_a_space(tmp_path: Path) -> None:
    tokenizer = sentencepiece(tmp_path / "m.gguf", {"\u2581a": NORMAL})
    assert texts_of(tokenizer, "a a") == [" a", " a"]
    assert texts_of(tokenizer, "</s>a") == ["", " a"], "and every text after a control token"


@pytest.mark.parametrize("keys", [{}, {"add_space_prefix": False}])
def test_gemma_adds_no_space(tmp_path: Path, keys: dict[str, Any]) -> None:
    tokenizer = sentencepiece(tmp_path / "m.gguf", {"\u2581a": NORMAL}, "gemma3", **keys)
    assert texts_of(tokenizer, "a a") == ["a", " a"]
    assert tokenizer.encode("a", add_special=True)[0] == 1


def test_gemma_has_tokens_for_runs_of_spaces_and_newlines(tmp_path: Path) -> None:
    runs = {"\n\n": USER_DEFINED, "  ": USER_DEFINED, "    ": USER_DEFINED, "<b>": USER_DEFINED}
    tokenizer = sentencepiece(tmp_path / "m.gguf", runs | {"\u2581a": NORMAL}, "gemma2")
    assert texts_of(tokenizer, "a\n\n    a<b>") == ["a", "\n\n", "    ", "a", "<b>"]
    assert tokenizer.decode(tokenizer.encode("a\n\n     a", add_special=False)) == "a\n\n     a"


def test_space_symbols_of_the_vocabulary_form_runs(tmp_path: Path) -> None:
    tokenizer = sentencepiece(tmp_path / "m.gguf", {"\u2581\u2581": USER_DEFINED}, "gemma")
    assert texts_of(tokenizer, "a  a") == ["a", "  ", "a"]


def test_control_tokens_of_phi3_consume_the_space_after_them(tmp_path: Path) -> None:
    turns = {"<|user|>": CONTROL, "<|end|>": CONTROL, "<|endoftext|>": CONTROL, "\u2581a": NORMAL}
    tokenizer = sentencepiece(tmp_path / "m.gguf", turns, "phi3")
    assert texts_of(tokenizer, "<|user|>\n a<|end|>\n<|user|>") == ["", " a", "", ""]
    assert texts_of(tokenizer, "<|endoftext|>\n") == ["", " ", "\n"]
    tokenizer = sentencepiece(tmp_path / "n.gguf", turns, "llama")
    assert texts_of(tokenizer, "<|user|>\n") == ["", " ", "\n"]


@pytest.mark.parametrize("kind", [NORMAL, USER_DEFINED, CONTROL])
@pytest.mark.parametrize("name", ["<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>"])
def test_end_of_turn_tokens_of_any_type_end_generation(tmp_path: Path, kind: int, name: str) -> None:
    tokens = {"</s>": CONTROL, name: kind, "ab": NORMAL} | dict.fromkeys(byte_of_character(), NORMAL)
    path = write_vocabulary(tmp_path / "m.gguf", "gpt2", tokens, merges=["a b"], pre="qwen2", eos_token_id=0)
    model = load_text_model(path)
    assert model.eos_ids == {0, 1}
    assert model.tokenizer.encode(f"ab{name}", add_special=False)[-1] == 1
    assert model.tokenizer.token_bytes(1) == b""
    assert 1 not in model.tokenizer.encode(name, add_special=False, parse_special=False)


def test_the_end_of_a_channel_message_does_not_end_generation(tmp_path: Path) -> None:
    names = ["<|return|>", "<|call|>", "<|end|>"]
    tokens = dict.fromkeys([*byte_of_character()], NORMAL) | dict.fromkeys(names, CONTROL) | {"ab": NORMAL}
    path = write_vocabulary(tmp_path / "m.gguf", "gpt2", tokens, merges=["a b"], pre="qwen2", eos_token_id=256)
    assert load_text_model(path).eos_ids == {256, 257}


def test_gemma4_merges_within_lines_only(tmp_path: Path) -> None:
    words = ["he", "ll", "hell", "hello", "\u2581th", "th", "\n\n"]
    tokens = {"<unk>": UNKNOWN, "<bos>": CONTROL, "<turn|>": CONTROL, "<|channel>": USER_DEFINED}
    tokens |= {f"<0x{byte:02X}>": BYTE for byte in range(256)}
    tokens |= dict.fromkeys(["\u2581", "\n", *"abcdehilnort", *words], NORMAL)
    merges = ["h e", "l l", "he ll", "hell o", "t h", "\u2581 th", "\n \n"]
    keys = {"merges": merges, "bos_token_id": 1, "unknown_token_id": 0, "add_space_prefix": False}
    path = write_vocabulary(tmp_path / "model.gguf", "gemma4", tokens, "gemma4", **keys)
    tokenizer = tokenizer_from_gguf(open_gguf(path))
    assert texts_of(tokenizer, "hello  tho\n\n\nhe") == ["hello", " ", " th", "o", "\n\n", "\n", "he"]
    assert texts_of(tokenizer, "<|channel>he") == ["<|channel>", "he"]
    ids = tokenizer.encode("h\u00e9<turn|>", add_special=True)
    assert [list(tokens)[each] for each in ids] == ["<bos>", "h", "<0xC3>", "<0xA9>", "<turn|>"]
    assert list(tokens).index("<turn|>") in load_text_model(path).eos_ids

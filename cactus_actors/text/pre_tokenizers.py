"""How byte-level vocabularies split text into words before merging, by the name that GGUF files give it.

The patterns are those that the models were trained with, as published in their tokenizer.json; the one of
files that name none is llama.cpp's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tokenizers import Regex
from tokenizers.pre_tokenizers import ByteLevel, PreTokenizer, Sequence, Split

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACES
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def _cased_words(ending: str) -> str:
    """Words by their case, `ending` after each: those that end in lower case, then those in upper case."""
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    lead = r"[^\r\n\p{L}\p{N}]?"
    return f"{lead}{upper}*{lower}+{ending}|{lead}{upper}+{lower}*{ending}"


_GPT4O = _cased_words(_CONTRACTIONS + "?") + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _SPACES
_TEKKEN = _cased_words("") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _SPACES


@dataclass(frozen=True)
class Splitting:
    """One way to split: each pattern in turn cuts the pieces that the one before has left.

    `whole_words`: a word that is a token is not merged but looked up. `add_bos` is
    for files that do not say.
    """

    patterns: tuple[str, ...]
    whole_words: bool = False
    add_bos: bool = False

    def pre_tokenizer(self) -> PreTokenizer:
        """The splitting as the `tokenizers` package does it, with the byte-level alphabet at its end."""
        splits = [Split(Regex(pattern), "isolated") for pattern in self.patterns]
        return Sequence([*splits, ByteLevel(add_prefix_space=False, use_regex=False)])


_UNNAMED = Splitting((r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"))
_WORDS = Splitting((_GPT2,))
_WORDS_AND_DIGITS = Splitting((r"\p{N}", _GPT2))
_LIKE_LLAMA3 = Splitting((_LLAMA3,), whole_words=True, add_bos=True)
_LIKE_DBRX = Splitting((_LLAMA3,))
_LIKE_QWEN2 = Splitting((_QWEN2,))

SPLITTINGS: Mapping[str, Splitting] = {
    "default": _UNNAMED,
    **dict.fromkeys(("gpt-2", "gpt2", "mpt", "olmo", "phi-2", "jina-es", "jina-de", "jais"), _WORDS),
    **dict.fromkeys(("smollm", "starcoder", "refact", "codeshell", "command-r", "exaone"), _WORDS_AND_DIGITS),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "lfm2", "falcon3"), _LIKE_LLAMA3),
    **dict.fromkeys(("dbrx", "smaug-bpe"), _LIKE_DBRX),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "stablelm2"), _LIKE_QWEN2),
    "gpt-4o": Splitting((_GPT4O,)),
    "tekken": Splitting((_TEKKEN,), whole_words=True, add_bos=True),
}

"""How byte-level vocabularies split text into words before merging, by the name that GGUF files give it.

The patterns are those that the models were trained with, as published in their tokenizer.json.
"""

from __future__ import annotations

from collections.abc import Mapping

from tokenizers import Regex
from tokenizers.pre_tokenizers import ByteLevel, Digits, PreTokenizer, Sequence, Split

_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

_PATTERNS: Mapping[str, str] = {
    "llama-bpe": _LLAMA3,
    "llama3": _LLAMA3,
    "llama-v3": _LLAMA3,
    "smaug-bpe": _LLAMA3,
    "dbrx": _LLAMA3,
    "qwen2": _QWEN2,
    "deepseek-r1-qwen": _QWEN2,
    "stablelm2": _QWEN2,
}
_GPT2 = frozenset({"gpt-2", "gpt2", "default", "mpt", "olmo", "phi-2", "jina-es", "jina-de", "jais"})
_GPT2_SINGLE_DIGITS = frozenset({"smollm", "starcoder", "refact", "codeshell", "command-r", "exaone"})

SUPPORTED = tuple(sorted({*_PATTERNS, *_GPT2, *_GPT2_SINGLE_DIGITS}))
ADDS_BOS = frozenset({"llama-bpe", "llama3", "llama-v3"})
LOOKS_UP_WHOLE_WORDS = frozenset({"llama-bpe", "llama3", "llama-v3"})


def pre_tokenizer(name: str) -> PreTokenizer | None:
    """The pre-tokenizer that GGUF files call `name`, None if it is not known."""
    if name in _PATTERNS:
        words = Split(Regex(_PATTERNS[name]), "isolated")
        return Sequence([words, ByteLevel(add_prefix_space=False, use_regex=False)])
    if name in _GPT2:
        return ByteLevel(add_prefix_space=False, use_regex=True)
    if name in _GPT2_SINGLE_DIGITS:
        return Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False, use_regex=True)])
    return None

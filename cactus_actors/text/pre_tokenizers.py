"""Patterns by which byte-level vocabularies split text into words before merging, by their names in GGUF files.

Names and patterns are those of llama.cpp (`src/llama-vocab.cpp`). Where llama.cpp simplifies a pattern, this module
has the one that the models were trained with, as published in their tokenizer.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tokenizers import Regex
from tokenizers.pre_tokenizers import ByteLevel, PreTokenizer, Sequence, Split

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LINES = r"\s*[\r\n]+"
_SPACES = rf"{_LINES}|\s+(?!\S)|\s+"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACES
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_QWEN35 = _QWEN2.replace(r"]?\p{L}+", r"]?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
_SEED_CODER = _QWEN2.replace(r"[^\s\p{L}\p{N}]+[\r\n]*", r"[^\s\p{L}\p{N}\r\n]+")
_BAILING = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
_EXAONE_MOE = (
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
)
_RUNS = "".join(rf"|\s{{{length}}}(?!\S)" for length in (512, 256, 128, 64, 32, 16, 8, 4, "1,2"))
_JAIS2 = _LLAMA3.removesuffix(r"|\s+(?!\S)|\s+") + _RUNS + r"|\s"
_NO_PUNCTUATION = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
_ASCII_PUNCTUATION = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"
_DEEPSEEK3 = _ASCII_PUNCTUATION + r"[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+"
_CHINESE_OR_KANA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
_FROM_ARABIC_TO_CHINESE_OR_HANGUL = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
_YOUTU_SCRIPTS = (
    "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+"
    "|[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
)
_GROUPS_FROM_THE_RIGHT = r"\d{1,3}(?=(?:\d{3})*\b)"

# The letters that have a case, of an earlier version of Unicode.
_CASED = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅ"
    "ὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉ"
    "ⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)


def _cased_words(ending: str, but: str = "") -> str:
    """Words by their case, `ending` after each: those that end in lower case, then those in upper case.

    `but` takes letters out of both classes.
    """
    upper, lower = (
        rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{but}]",
        rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{but}]",
    )
    lead = r"[^\r\n\p{L}\p{N}]?"
    return f"{lead}{upper}*{lower}+{ending}|{lead}{upper}+{lower}*{ending}"


_GPT4O = _cased_words(_CONTRACTIONS + "?") + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _SPACES
_TEKKEN = _cased_words("") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _SPACES
_YOUTU = _GPT4O.replace(r"\p{N}{1,3}", r"\p{N}")
_KIMI = (
    r"\p{Han}+|" + _cased_words(_CONTRACTIONS + "?", r"&&[^\p{Han}]") + r"|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACES
)


@dataclass(frozen=True)
class Splitting:
    """One way to split: each pattern in turn cuts the pieces of the one before.

    `whole_words`: a word that is a token is looked up, not merged. `add_bos` is the default for files without the
    key.
    """

    patterns: tuple[str, ...]
    whole_words: bool = False
    add_bos: bool = False

    def pre_tokenizer(self) -> PreTokenizer:
        """The splitting as the `tokenizers` package does it."""
        splits = [Split(Regex(pattern), "isolated") for pattern in self.patterns]
        return Sequence([*splits, ByteLevel(add_prefix_space=False, use_regex=False)])


_UNNAMED = Splitting((r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"))
_WORDS = Splitting((_GPT2,))
_WORDS_AND_DIGITS = Splitting((r"\p{N}", _GPT2))
_LIKE_LLAMA3 = Splitting((_LLAMA3,), whole_words=True, add_bos=True)
_LIKE_GLM4 = Splitting((_LLAMA3,), whole_words=True)
_LIKE_DBRX = Splitting((_LLAMA3,))
_LIKE_QWEN2 = Splitting((_QWEN2,))
_LIKE_GPT4O = Splitting((_GPT4O,))
_LIKE_DEEPSEEK3 = Splitting((r"\p{N}{1,3}", _CHINESE_OR_KANA, rf"{_DEEPSEEK3}[\r\n]*|{_SPACES}"))
_LIKE_BAILING = Splitting((_BAILING,))
_LIKE_BLOOM = Splitting((_NO_PUNCTUATION,))
_LIKE_TINY_AYA = Splitting((_GROUPS_FROM_THE_RIGHT, _GPT4O))

_DEEPSEEK_LLM = Splitting(
    (
        r"[\r\n]",
        rf"\s?[{_CASED}]+",
        "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
        r"\s+$",
        _FROM_ARABIC_TO_CHINESE_OR_HANGUL,
        r"\p{N}",
    )
)
_DEEPSEEK_CODER = Splitting((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _FROM_ARABIC_TO_CHINESE_OR_HANGUL, r"\p{N}"))
_CHAMELEON = Splitting(
    (
        "<sentinel:[0-9]+>",
        "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
        "([\\t\\n]|    |  )",
        r"\p{N}",
        r"[\p{P}!-/:-@\[-`{-~]",
        _GPT2,
    ),
    add_bos=True,
)

SPLITTINGS: Mapping[str, Splitting] = {
    "default": _UNNAMED,
    **dict.fromkeys(("gpt-2", "gpt2", "mpt", "olmo", "phi-2", "jais", "mellum", "modern-bert"), _WORDS),
    **dict.fromkeys(("jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "gigachat", "a.x-4.0"), _WORDS),
    **dict.fromkeys(("exaone4", "trillion", "granite-docling"), _WORDS),
    **dict.fromkeys(("jina-v1-en", "jina-v2-code", "roberta-bpe"), _WORDS),
    **dict.fromkeys(("smollm", "starcoder", "refact", "codeshell", "command-r", "exaone"), _WORDS_AND_DIGITS),
    **dict.fromkeys(("minerva-7b", "mellum2"), _WORDS_AND_DIGITS),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "lfm2", "falcon3", "falcon-h1"), _LIKE_LLAMA3),
    **dict.fromkeys(("pixtral", "midm-2.0", "jina-v5-nano"), _LIKE_LLAMA3),
    **dict.fromkeys(("glm4", "glm5"), _LIKE_GLM4),
    **dict.fromkeys(("dbrx", "smaug-bpe", "chatglm-bpe"), _LIKE_DBRX),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "hunyuan"), _LIKE_QWEN2),
    **dict.fromkeys(("stablelm2", "solar-open", "grok-2"), _LIKE_QWEN2),
    **dict.fromkeys(("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"), _LIKE_GPT4O),
    **dict.fromkeys(("deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"), _LIKE_DEEPSEEK3),
    **dict.fromkeys(("bailingmoe", "bailingmoe2", "llada-moe"), _LIKE_BAILING),
    **dict.fromkeys(("bloom", "gpt3-finnish", "poro-chat"), _LIKE_BLOOM),
    **dict.fromkeys(("tiny_aya", "cohere2moe"), _LIKE_TINY_AYA),
    "chameleon": _CHAMELEON,
    "deepseek-coder": _DEEPSEEK_CODER,
    "deepseek-llm": _DEEPSEEK_LLM,
    "exaone-moe": Splitting((_EXAONE_MOE,)),
    "falcon": Splitting((r"[\p{P}$+<=>^`|~]+", _GPT2, "[0-9][0-9][0-9]")),
    "granite-embed-multi-97m": Splitting((_GPT4O,), whole_words=True),
    "jais-2": Splitting((_JAIS2,)),
    "kimi-k2": Splitting((_KIMI,)),
    "laguna": Splitting((r"[^\n]+|[\n]+", _QWEN2)),
    "minicpm5": Splitting((r"\p{N}{1,3}", _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}+")), whole_words=True),
    "qwen35": Splitting((_QWEN35,)),
    "seed-coder": Splitting((_SEED_CODER,)),
    "spark2_5": Splitting((r"\p{N}{1,3}", _CHINESE_OR_KANA, rf"{_DEEPSEEK3}|[\r\n]|\s+(?!\S)|\s+", r"\p{N}")),
    "superbpe": Splitting((r"\p{N}+", r"(?=(\d{3})+(?!\d))")),
    "tekken": Splitting((_TEKKEN,), whole_words=True, add_bos=True),
    "ufakzeka": Splitting((_QWEN2.removeprefix(f"{_CONTRACTIONS}|"),)),
    "viking": Splitting((_NO_PUNCTUATION, r"\p{N}")),
    "youtu": Splitting((_YOUTU_SCRIPTS, _YOUTU), whole_words=True),
}

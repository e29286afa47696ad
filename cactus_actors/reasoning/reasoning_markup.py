"""Reasoning markups of model families.

Sources: the chat templates of Qwen3, QwQ, DeepSeek R1 and V3.1, SmolLM3, GLM 4.5 to 5, MiniMax M2 and M3,
Kimi K2 and VL, Nemotron, Granite 3.2 and 3.3, Hunyuan, Command-R7B and A, Magistral and Ministral 3,
gpt-oss, Seed-OSS, Solar Open, Hunyuan 3, Gemma 4, EXAONE Deep, Apertus and Apriel.
"""

from __future__ import annotations

import msgspec


class ReasoningMarkup(msgspec.Struct, frozen=True, kw_only=True):
    """The markup of one family: the reasoning comes first, between one of `opens` and one of `closes`.

    The first of each is the spelling for writing. `answers` are pairs of texts that may enclose the answer; the
    first of a pair may be empty. A chat template is the family's if it holds all of `signs`. `tokens` are the texts
    of the markup that may be control tokens of a vocabulary. With `has_channels` an answer is a list of messages,
    each of a channel (OpenAI's harmony format), and any of them may be reasoning.
    """

    opens: tuple[str, ...]
    closes: tuple[str, ...]
    signs: tuple[str, ...]
    answers: tuple[tuple[str, str], ...] = ()
    tokens: tuple[str, ...] = ()
    has_channels: bool = False


def _tagged(
    open_text: str,
    close_text: str,
    *signs: str,
    answers: tuple[tuple[str, str], ...] = (),
) -> ReasoningMarkup:
    tokens = tuple(dict.fromkeys((open_text, close_text, *(text for pair in answers for text in pair))))
    return ReasoningMarkup(
        opens=(open_text,),
        closes=(close_text,),
        signs=signs or (open_text,),
        answers=answers,
        tokens=tokens,
    )


# In this order: a special form of a markup before the general one.
MARKUPS: dict[str, ReasoningMarkup] = {
    "harmony": ReasoningMarkup(
        opens=("<|channel|>analysis<|message|>",),
        closes=("<|end|>",),
        signs=("<|channel|>analysis<|message|>",),
        answers=(("<|start|>assistant<|channel|>final<|message|>", "<|return|>"),),
        tokens=("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>"),
        has_channels=True,
    ),
    "gemma": ReasoningMarkup(
        opens=("<|channel>thought",),
        closes=("<channel|>",),
        signs=("<|channel>thought", "<channel|>"),
        tokens=("<|channel>", "<channel|>"),
    ),
    "command-r": _tagged(
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        answers=(("<|START_RESPONSE|>", "<|END_RESPONSE|>"), ("<|START_TEXT|>", "<|END_TEXT|>")),
    ),
    "mistral": _tagged("[THINK]", "[/THINK]"),
    "solar": _tagged(
        "<|think|>",
        "<|end|>",
        "<|think|>",
        "<|content|>",
        answers=(("<|begin|>assistant<|content|>", "<|end|>"), ("<|content|>", "<|end|>")),
    ),
    "hunyuan-v3": _tagged("<think:opensource>", "</think:opensource>"),
    "seed": _tagged("<seed:think>", "</seed:think>"),
    "minimax": _tagged("<mm:think>", "</mm:think>"),
    "kimi-vl": _tagged("◁think▷", "◁/think▷"),
    "exaone": _tagged("<thought>", "</thought>"),
    "apertus": _tagged("<|inner_prefix|>", "<|inner_suffix|>"),
    "apriel": ReasoningMarkup(
        opens=("Here are my reasoning steps:",),
        closes=("[BEGIN FINAL RESPONSE]",),
        signs=("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),
        answers=(("", "[END FINAL RESPONSE]"),),
    ),
    "granite-3.2": ReasoningMarkup(
        opens=("Here is my thought process:", "Here's my thought process:"),
        closes=("Here is my response:", "Here's my response:"),
        signs=("my thought process:", "my response:"),
    ),
    "granite": _tagged(
        "<think>",
        "</think>",
        "<think></think>",
        "<response></response>",
        answers=(("<response>", "</response>"),),
    ),
    "hunyuan": _tagged("<think>", "</think>", "<think>", "<answer>", answers=(("<answer>", "</answer>"),)),
    "think": _tagged("<think>", "</think>", "think>"),
}

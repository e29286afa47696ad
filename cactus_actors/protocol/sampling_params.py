"""Parameters with which a worker samples one sequence."""

from __future__ import annotations

from typing import Literal

import msgspec

UNLIMITED = -1
"""All the tokens that the context has room for."""

ReasoningStart = Literal["undecided", "reasoning", "answer"]
"""Start of an answer: the model may reason first, the prompt has opened the reasoning, or has closed it."""


class ReasoningParams(msgspec.Struct, frozen=True, array_like=True):
    """The markup that separates reasoning from the answer, and the budget after which a worker ends reasoning.

    `markup` is a name in `reasoning.MARKUPS`. After `budget` tokens of reasoning (UNLIMITED: never) the
    tokens `close_ids` are forced. With `keeps_space` the answer is the exact text after
    the marks.
    """

    markup: str
    start: ReasoningStart = "undecided"
    budget: int = UNLIMITED
    close_ids: tuple[int, ...] = ()
    keeps_space: bool = False


class SamplingParams(msgspec.Struct, frozen=True, array_like=True):
    """Sampling parameters of one sequence; every value is resolved and in range.

    `max_tokens` counts completion tokens and is at least 0 (0 = prefill only). `top_k` 0, `top_p` 1, `min_p` 0,
    `repeat_penalty` 1 and `repeat_last_n` 0 switch their rule off; `repeat_last_n` -1 is the whole context.
    `temperature` 0 is the argmax, lowest id on ties. `seed` is an unsigned 64-bit integer. `logit_bias` is added to
    the logits of its token ids. `mirostat` is 0, 1 or 2. `num_logprobs` is the number of likely tokens returned
    with each token, -1 for not even its own log probability; `prompt_logprobs` requests the same for the prompt.
    With `penalise_prompt`, presence and frequency penalties count the prompt too. `visible_tokens` are control
    tokens that count as text in this job: those of the tool markup and of the reasoning's. `reasoning` is set for a
    model that may reason before it answers.
    """

    max_tokens: int
    min_tokens: int = 0
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int = 0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    stop: tuple[str, ...] = ()
    include_stop_sequences: bool = False
    ignore_eos: bool = False
    cache_prompt: bool = True
    typical_p: float = 1.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    mirostat: int = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    num_logprobs: int = -1
    prompt_logprobs: bool = False
    penalise_prompt: bool = True
    visible_tokens: tuple[tuple[int, str], ...] = ()
    reasoning: ReasoningParams | None = None

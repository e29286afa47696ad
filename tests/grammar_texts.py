"""What texts a grammar takes: read byte by byte, and written by a model that knows nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from llguidance import LLMatcher, LLTokenizer

from cactus_actors.protocol.options import Options
from cactus_actors.structured import compile_request
from cactus_actors.structured.matcher import GrammarMatcher
from cactus_actors.text.tokenizer import Tokenizer

BYTES = LLTokenizer("byte")
CONTROL_TOKENS = {"<think>": 5, "</think>": 6, "<tool_call>": 7, "[TOOL_CALLS]": 8}


class Names:
    """The names of a vocabulary: letters that stand for themselves, and control tokens."""

    vocab_size = 256

    def id_of(self, token: str) -> int | None:
        return CONTROL_TOKENS.get(token, ord(token) if len(token) == 1 else None)

    def is_special(self, token_id: int) -> bool:
        return token_id in CONTROL_TOKENS.values()


def grammar_of(**options: object) -> str:
    """The grammar of a job with these options."""
    return compile_request(Options(**options), Names())  # type: ignore[arg-type]


def accepts(grammar: str, text: str) -> bool:
    """Whether `text` is complete under `grammar`."""
    return accepted(grammar, [text]) == [text]


def accepted(grammar: str, texts: Iterable[str]) -> list[str]:
    """Those of `texts` that are complete under `grammar`."""
    matcher = LLMatcher(BYTES, grammar, log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    return [text for text in texts if _reads(matcher.deep_copy(), text.encode())]


def _reads(matcher: LLMatcher, text: bytes) -> bool:
    return matcher.try_consume_tokens(list(text)) == len(text) and matcher.is_accepting()


def write(
    matcher: GrammarMatcher,
    tokenizer: Tokenizer,
    eos_ids: frozenset[int],
    rng: np.random.Generator,
    max_tokens: int = 60,
) -> tuple[str, bool]:
    """A text of tokens drawn at random from the masks, and whether it ended by itself.

    After half of `max_tokens` the shortest tokens are preferred, which close what is open.
    """
    token_ids: list[int] = []
    for _ in range(max_tokens):
        if matcher.is_finished:
            return tokenizer.decode(token_ids), True
        legal = allowed(matcher)
        ends = legal[np.isin(legal, list(eos_ids))]
        if ends.size and (rng.random() < 0.3 or len(token_ids) > max_tokens // 2):
            return tokenizer.decode(token_ids), True
        legal = legal[~np.isin(legal, list(eos_ids))]
        if len(token_ids) > max_tokens // 2:
            legal = np.array(shortest(legal.tolist(), tokenizer))
        token_ids.append(int(rng.choice(legal)))
        matcher.accept(token_ids[-1])
    return tokenizer.decode(token_ids), matcher.is_finished


def allowed(matcher: GrammarMatcher) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The ids of the tokens that may come next."""
    return np.flatnonzero(np.unpackbits(matcher.bitmask().view(np.uint8), bitorder="little"))


def shortest(token_ids: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """Of `token_ids` those that close something, else those of the fewest bytes."""
    closing = [one for one in token_ids if tokenizer.token_bytes(one) in (b'"', b"}", b"]", b":", b"0")]
    fewest = min((len(tokenizer.token_bytes(one)) for one in token_ids), default=0)
    return closing or [one for one in token_ids if len(tokenizer.token_bytes(one)) == fewest]

"""The language of a grammar: membership byte by byte, and random texts by a model without knowledge."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
from llguidance import LLMatcher, LLTokenizer
from numpy.typing import NDArray

from cactus_actors.protocol.options import Options
from cactus_actors.structured import compile_request
from cactus_actors.structured.matcher import GrammarMatcher
from cactus_actors.text.tokenizer import Tokenizer

BYTES = LLTokenizer("byte")
CONTROL_TOKENS = {"<think>": 5, "</think>": 6, "<tool_call>": 7, "[TOOL_CALLS]": 8}


class Names:
    """Token names of a vocabulary: letters that are their own names, and control tokens."""

    vocab_size = 256

    def id_of(self, token: str) -> int | None:
        return CONTROL_TOKENS.get(token, ord(token) if len(token) == 1 else None)

    def is_special(self, token_id: int) -> bool:
        return token_id in CONTROL_TOKENS.values()


def grammar_of(**options: object) -> str:
    """The grammar of a job with these options."""
    return compile_request(Options(**options), Names())  # type: ignore[arg-type]


def accepts(grammar: str, text: str) -> bool:
    """True if `text` is complete under `grammar`."""
    return accepted(grammar, [text]) == [text]


def accepted(grammar: str, texts: Iterable[str]) -> list[str]:
    """The members of `texts` that are complete under `grammar`."""
    matcher = LLMatcher(BYTES, grammar, log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    return [text for text in texts if _reads(matcher.deep_copy(), text.encode())]


def _reads(matcher: LLMatcher, text: bytes) -> bool:
    return matcher.try_consume_tokens(list(text)) == len(text) and matcher.is_accepting()


class NoControlTokens(Names):
    """The vocabulary without its control tokens."""

    def is_special(self, token_id: int) -> bool:
        return False


def random_text(grammar: str, rng: random.Random, max_bytes: int = 400, begins: str = "") -> str | None:
    """A text of a grammar, drawn byte by byte; None if it does not end within `max_bytes`.

    It begins with as much of `begins` as the grammar allows. After a quarter of `max_bytes` the bytes are
    preferred that close what is open.
    """
    matcher = LLMatcher(BYTES, grammar, log_level=0)
    text = bytearray(begins.encode())
    del text[matcher.try_consume_tokens(list(text)) :]
    while len(text) < max_bytes and not matcher.is_stopped():
        if matcher.is_accepting() and rng.random() < 0.5:
            break
        mask = np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8)
        legal = [int(byte) for byte in np.flatnonzero(np.unpackbits(mask, bitorder="little")[:256])]
        if not legal:
            break
        closing = [byte for byte in legal if byte in b'"}])><|\n']
        plain = [byte for byte in legal if 32 <= byte < 127]
        preferred = closing if len(text) > max_bytes // 4 and rng.random() < 0.8 else plain
        byte = rng.choice(preferred or legal)
        text.append(byte)
        matcher.consume_token(byte)
    return text.decode("utf-8", errors="strict") if matcher.is_accepting() else None


class Writer:
    """Draws tokens at random from masks."""

    def __init__(self, tokenizer: Tokenizer, eos_ids: frozenset[int], seed: int = 7) -> None:
        self._tokenizer = tokenizer
        self._eos_ids = list(eos_ids)
        self._rng = np.random.default_rng(seed)
        texts = [tokenizer.token_bytes(token_id) for token_id in range(tokenizer.vocab_size)]
        self._lengths = np.array([len(text) for text in texts])
        self._closes = np.array([text in (b'"', b"}", b"]", b":", b"0") for text in texts])

    def write(self, matcher: GrammarMatcher, max_tokens: int = 60) -> tuple[str, bool]:
        """A text, and True if it ended.

        After half of `max_tokens` the tokens are preferred that close what is open, then the shortest.
        """
        token_ids: list[int] = []
        while len(token_ids) < max_tokens and not matcher.is_finished:
            is_late = len(token_ids) > max_tokens // 2
            legal = allowed(matcher)
            is_end = np.isin(legal, self._eos_ids)
            if is_end.any() and (is_late or self._rng.random() < 0.3):
                return self._tokenizer.decode(token_ids), True
            legal = legal[~is_end]
            if is_late:
                closing = legal[self._closes[legal]]
                lengths = self._lengths[legal]
                legal = closing if closing.size else legal[lengths == lengths.min()]
            token_ids.append(int(self._rng.choice(legal)))
            matcher.accept(token_ids[-1])
        return self._tokenizer.decode(token_ids), matcher.is_finished


def allowed(matcher: GrammarMatcher) -> NDArray[np.int64]:
    """The ids of the tokens that may come next."""
    return np.flatnonzero(np.unpackbits(matcher.bitmask().view(np.uint8), bitorder="little"))


def random_grammar(rng: random.Random) -> str:
    names = ["root", "x", "y"][: rng.randint(1, 3)]
    leaves = ['"a"', '"b"', '"ab"', '"abc"', "[ab]", "[bc]", "[^a]", '""', *names, *names]

    def node(depth: int) -> str:
        kind = rng.random()
        if depth == 0 or kind < 0.35:
            return rng.choice(leaves)
        if kind < 0.6:
            return " ".join(node(depth - 1) for _ in range(rng.randint(1, 3)))
        if kind < 0.8:
            return f"({' | '.join(node(depth - 1) for _ in range(rng.randint(1, 3)))})"
        return f"({node(depth - 1)}){rng.choice(['*', '+', '?', '{2}', '{1,2}', '{2,}'])}"

    return "\n".join(f"{name} ::= {node(2)} | {node(2)}" for name in names)

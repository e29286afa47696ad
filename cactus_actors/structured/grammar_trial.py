"""Tries a grammar on sample texts before its job is accepted, to bound its cost.

The cost depends on the position in a text: an expression that compiles in a millisecond may need more states after
its first letter than a worker may hold.
"""

from __future__ import annotations

import hashlib
import random
import weakref
from collections import OrderedDict

import numpy as np
from llguidance import LLMatcher, LLParserLimits

from cactus_actors.protocol.errors import SchemaTooComplex
from cactus_actors.structured.compiled import TOO_MUCH_WORK, param_of
from cactus_actors.structured.limits import parser_limits
from cactus_actors.structured.vocabulary import GrammarTokenizer, grammar_vocabulary

NUM_TEXTS = 3
MAX_TOKENS = 48
"""Tokens of each text."""
MAX_KNOWN = 1000
"""The number of passed grammars that are remembered."""


class GrammarTrials:
    """Tries the grammars of one model's requests; one that passed recently is not tried again."""

    def __init__(self, tokenizer: GrammarTokenizer) -> None:
        self._vocabulary = grammar_vocabulary(tokenizer, ())
        self._passed: OrderedDict[bytes, None] = OrderedDict()

    def check(self, grammar: str) -> None:
        """Write NUM_TEXTS texts with tokens drawn from fixed seeds, under half of a worker's limits.

        Raises SchemaTooComplex, naming the request's field, if one of them exceeds the limits.
        """
        digest = hashlib.blake2b(grammar.encode(), digest_size=16).digest()
        if digest in self._passed:
            self._passed.move_to_end(digest)
            return
        start = LLMatcher(self._vocabulary, grammar, log_level=0, limits=_half_of(parser_limits()))
        for seed in range(NUM_TEXTS):
            matcher = start.deep_copy()
            _write(matcher, random.Random(seed))  # noqa: S311
            if matcher.is_error():
                raise SchemaTooComplex(TOO_MUCH_WORK, param=param_of(grammar))
        self._passed[digest] = None
        if len(self._passed) > MAX_KNOWN:
            self._passed.popitem(last=False)


_trials: weakref.WeakKeyDictionary[GrammarTokenizer, GrammarTrials] = weakref.WeakKeyDictionary()


def try_grammar(grammar: str, tokenizer: GrammarTokenizer) -> None:
    """Try a serialised grammar as `GrammarTrials.check` does; the vocabulary of `tokenizer` is indexed once."""
    trials = _trials.get(tokenizer)
    if trials is None:
        trials = _trials[tokenizer] = GrammarTrials(tokenizer)
    trials.check(grammar)


def _write(matcher: LLMatcher, chooser: random.Random) -> None:
    for _ in range(MAX_TOKENS):
        if matcher.is_error() or matcher.is_stopped():
            return
        bits = np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8)
        allowed = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
        if not len(allowed):
            return
        matcher.consume_token(int(allowed[chooser.randrange(len(allowed))]))


def _half_of(limits: LLParserLimits) -> LLParserLimits:
    return LLParserLimits(
        max_items_in_row=limits.max_items_in_row // 2,
        initial_lexer_fuel=limits.initial_lexer_fuel // 2,
        step_lexer_fuel=limits.step_lexer_fuel // 2,
        step_max_items=limits.step_max_items // 2,
        max_lexer_states=limits.max_lexer_states // 2,
        verbose_errors=False,
    )

"""Computes token masks of sequences with grammars."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Iterable
from queue import SimpleQueue

import numpy as np
from llguidance import LLMatcher, LLTokenizer
from numpy.typing import NDArray

from cactus_actors.protocol.errors import CactusError, InvalidRequest, ModelFailure, SchemaTooComplex
from cactus_actors.structured.bounded_cache import BoundedCache
from cactus_actors.structured.compiled import TOO_MUCH_WORK, param_of
from cactus_actors.structured.compiler_messages import is_about_limits
from cactus_actors.structured.limits import parser_limits
from cactus_actors.structured.vocabulary import GrammarTokenizer, grammar_vocabulary

_log = logging.getLogger(__name__)

MAX_TEMPLATES = 32
MAX_TEMPLATE_BYTES = 4 << 20
"""Number and bytes of the grammars whose compiled form is kept."""

_NEGATION = "<[^"


class GrammarMatcher:
    """One sequence's position in its grammar; implements `TokenConstraint` of the worker's engine.

    A mask is computed on the helper's thread as soon as the token before it is known, while the model's
    forward pass runs; an earlier caller computes it.

    Matchers of a grammar share the states of its automaton, and all fail when one of them makes too many. Each of them
    then continues alone: only texts that need too many states by themselves fail.
    """

    def __init__(
        self,
        grammar: str,
        build: Callable[[str, bool], LLMatcher],
        num_tokens: int,
        later: Callable[[Callable[[], None]], None],
        never: NDArray[np.int32] | None = None,
    ) -> None:
        self._grammar = grammar
        self._build = build
        self._later = later
        self._never = never  # bits of tokens that end the text, if the grammar could mistake them for others
        self._lock = threading.Lock()
        self._matcher: LLMatcher | None = None
        self._is_alone = False
        self._token_ids: list[int] = []
        self._mask = np.zeros((num_tokens + 31) // 32, dtype=np.int32)
        self._is_masked = False
        self._is_mask_requested = False  # True if the mask of this position was requested: a replay requests none
        later(self._prepare)

    def accept(self, token_id: int) -> None:
        """Advance by `token_id`.

        Raises ModelFailure for a token that the mask does not allow, SchemaTooComplex beyond the limits.
        """
        with self._lock:
            matcher = self._ready()
            self._is_masked = False
            if not matcher.consume_token(token_id):
                matcher = self._alone(matcher)
                if not matcher.consume_token(token_id):
                    raise self._failure(matcher)
            self._token_ids.append(token_id)
            is_wanted = self._is_mask_requested and not matcher.is_stopped()
            self._is_mask_requested = False
        if is_wanted:
            self._later(self._prepare)

    def bitmask(self) -> NDArray[np.int32]:
        """The tokens that may be next: bit i % 32 of word i // 32 is token i; valid until `accept`."""
        with self._lock:
            self._is_mask_requested = True
            self._compute()
            return self._mask

    @property
    def is_finished(self) -> bool:
        """True if the text is complete and only its end may follow."""
        with self._lock:
            matcher = self._ready()
            return matcher.is_stopped() and not matcher.is_error()

    def _prepare(self) -> None:
        """Compute the mask ahead; an error is raised again for the caller that needs the mask."""
        with self._lock:
            try:
                self._compute()
            except CactusError:
                return

    def _compute(self) -> None:
        matcher = self._ready()
        if self._is_masked:
            return
        matcher.unsafe_compute_mask_ptr(self._mask.ctypes.data, self._mask.nbytes)
        if matcher.is_error():
            matcher = self._alone(matcher)
            matcher.unsafe_compute_mask_ptr(self._mask.ctypes.data, self._mask.nbytes)
            if matcher.is_error():
                raise self._failure(matcher)
        if self._never is not None and not matcher.is_accepting():
            self._mask &= ~self._never
        self._is_masked = True

    def _alone(self, failed: LLMatcher) -> LLMatcher:
        """A matcher at this position that shares no states; raises the error unless shared ones may be its cause."""
        if self._is_alone or not is_about_limits(_first_line(failed)):
            raise self._failure(failed)
        self._is_alone = True
        matcher = self._matcher = self._build(self._grammar, True)
        if matcher.try_consume_tokens(self._token_ids) < len(self._token_ids):
            raise self._failure(matcher)
        return matcher

    def _failure(self, matcher: LLMatcher) -> CactusError:
        message = _first_line(matcher)
        if is_about_limits(message):
            return SchemaTooComplex(TOO_MUCH_WORK, param=param_of(self._grammar))
        _log.error("the generated text does not match its grammar: %s", message)
        return ModelFailure("the text left its grammar")

    def _ready(self) -> LLMatcher:
        if self._matcher is None:
            self._matcher = self._build(self._grammar, False)
        return self._matcher


class Matchers:
    """Makes the matchers of one model's sequences; recent grammars are not compiled again.

    The vocabulary is indexed for the first grammar. Matchers may be made and used from one thread
    while the helper's thread computes their masks.
    """

    def __init__(self, tokenizer: GrammarTokenizer, eos_ids: Iterable[int]) -> None:
        self._tokenizer = tokenizer
        self._eos_ids = frozenset(eos_ids)
        self._num_tokens = tokenizer.vocab_size
        self._lock = threading.Lock()
        self._vocabulary: LLTokenizer | None = None
        self.templates: BoundedCache[LLMatcher] = BoundedCache(MAX_TEMPLATE_BYTES, MAX_TEMPLATES)
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._helper: threading.Thread | None = None
        weakref.finalize(self, self._work.put, None)

    def __call__(self, grammar: str) -> GrammarMatcher:
        """A matcher at the start of a text of `grammar`, as `compile_request` made it.

        The helper's thread compiles it: errors are raised at the first use of the matcher, InvalidRequest for a
        grammar that does not compile for this vocabulary.
        """
        if self._helper is None:
            self._helper = threading.Thread(target=_help, args=(self._work,), name="grammar-masks", daemon=True)
            self._helper.start()
        never = self._end_bits() if _NEGATION in grammar else None
        return GrammarMatcher(grammar, self._compiled, self._num_tokens, self._work.put, never)

    def _end_bits(self) -> NDArray[np.int32]:
        bits = np.zeros((self._num_tokens + 31) // 32 * 32, dtype=np.bool_)
        bits[list(self._eos_ids)] = True
        return np.packbits(bits, bitorder="little").view(np.int32)

    def _compiled(self, grammar: str, is_alone: bool) -> LLMatcher:
        """A matcher that shares states with the others of its grammar; alone it does not, and later ones share anew."""
        with self._lock:
            if is_alone:
                self.templates.drop(grammar)
            elif (template := self.templates.get(grammar)) is not None:
                return template.deep_copy()
            if self._vocabulary is None:
                self._vocabulary = grammar_vocabulary(self._tokenizer, self._eos_ids)
            matcher = LLMatcher(self._vocabulary, grammar, log_level=0, limits=parser_limits())
            if matcher.is_error():
                raise _refusal(_first_line(matcher), grammar)
            if not is_alone:
                self.templates.put(grammar, matcher.deep_copy(), len(grammar))
            return matcher


def _help(work: SimpleQueue[Callable[[], None] | None]) -> None:
    while (prepare := work.get()) is not None:
        prepare()
        del prepare  # frees a matcher whose sequence ended immediately


def _refusal(message: str, grammar: str) -> InvalidRequest:
    """The error for a grammar that compiled without this vocabulary and does not with it."""
    if is_about_limits(message):
        return SchemaTooComplex(TOO_MUCH_WORK, param=param_of(grammar))
    _log.error("a grammar does not compile: %s", message)
    return InvalidRequest("the grammar does not compile for this model's vocabulary", param=param_of(grammar))


def _first_line(matcher: LLMatcher) -> str:
    return matcher.get_error().strip().split("\n", 1)[0][:300]

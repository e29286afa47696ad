"""The model handle: one model, used by one thread at a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from cactus_actors.client.submit import Tools, make_submit
from cactus_actors.protocol.errors import CactusError, InvalidRequest, ServerFailure, error_from_info
from cactus_actors.protocol.messages import Delta, Submit
from cactus_actors.protocol.results import Result, Source
from cactus_actors.retrieval import NUM_SOURCES, Index, fitting, question_of, with_sources
from cactus_actors.sdk.backend import Backend, OnDelta
from cactus_actors.sdk.last_error import CallFailed

OnToken = Callable[[str, int], Any]
"""Called with a token's text, which may be empty, and its id; a cloud's text has the id 0."""


class CactusModel:
    """The handle that `cactus_init` returns.

    A call waits until other threads' calls have returned; `stop` and `destroy` end a running one. Raises CallFailed
    once it is destroyed, and for a call out of its own callback.
    """

    def __init__(self, backend: Backend, index: Index | None = None) -> None:
        self._backend = backend
        self._index = index
        self._lock = threading.Lock()
        self._owner: int | None = None  # the thread that holds the lock
        self._is_destroyed = False
        self._num_resets = 0

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Tools | None,
        options: Mapping[str, Any],
        on_token: OnToken | None,
    ) -> Result:
        """The answer to a conversation, a failed one included; raises InvalidRequest and its kinds.

        With a corpus, chunks for the last question are added to the system message.
        """
        with self._held() as backend:
            make_submit(messages=messages, tools=tools, options=options)  # check before the search
            sources = self._retrieved(messages, options)
            submit = make_submit(messages=with_sources(messages, sources), tools=tools, options=options)
            result = backend.run(self._salted(submit), _each_token(on_token))
            return msgspec.structs.replace(result, sources=[*sources, *result.sources])

    def embed(self, text: str, *, normalize: bool) -> list[float]:
        """The embedding of a text, normalised or not."""
        with self._held() as backend:
            embedding, length = embedding_of(backend, text)
            return embedding if normalize else [value * length for value in embedding]

    def query(self, text: str, top_k: int) -> list[Source] | None:
        """The best chunks of the corpus, best first; None without a corpus."""
        with self._held():
            return None if self._index is None else found(self._index, text, top_k)

    def score(self, tokens: list[int]) -> list[float | None]:
        """The log probability of each token given those before it; None for the first."""
        with self._held() as backend:
            options = {"max_tokens": 0, "echo": True, "logprobs": True}
            result = backend.run(self._salted(make_submit(prompt=tokens, options=options)), None)
            if result.error is not None:
                raise error_from_info(result.error)
            if result.prompt_logprobs is None or len(result.prompt_logprobs) != len(tokens):
                raise ServerFailure("the job ended without the prompt's log probabilities")
            return [token.logprob for token in result.prompt_logprobs]

    def encode(self, text: str) -> list[int]:
        """The token ids of a text."""
        with self._held() as backend:
            return backend.encode(text)

    def stop(self) -> None:
        """Stop the generation of another thread, or of the callback's own call, after the current token."""
        if not self._is_destroyed:
            self._backend.stop()

    def reset(self) -> None:
        """Forget all conversations: later calls do not reuse their cached prefixes."""
        with self._held():
            self._num_resets += 1

    def destroy(self) -> None:
        """Stop the running call and release the model; a second call does nothing."""
        if self._owner == threading.get_ident():
            raise CallFailed("a model cannot be destroyed by its own callback")
        with contextlib.suppress(CactusError):  # the service may be gone
            self.stop()
        with self._lock:
            is_first, self._is_destroyed = not self._is_destroyed, True
            if is_first:
                self._backend.close()

    @contextlib.contextmanager
    def _held(self) -> Iterator[Backend]:
        if self._owner == threading.get_ident():
            raise CallFailed("the model is generating: its own callback cannot use it, but may stop it")
        with self._lock:
            if self._is_destroyed:
                raise CallFailed("the model was destroyed")
            self._owner = threading.get_ident()
            try:
                yield self._backend
            finally:
                self._owner = None

    def _retrieved(self, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> list[Source]:
        """Passages for the prompt, at most half of the context."""
        top_k = options.get("tool_rag_top_k")
        if self._index is None or top_k == 0:
            return []
        sources = found(self._index, question_of(messages), NUM_SOURCES if top_k is None else top_k)
        return fitting(sources, self._backend.max_context // 2, lambda text: len(self._backend.encode(text)))

    def _salted(self, submit: Submit) -> Submit:
        """Set the job's cache salt."""
        if not self._num_resets:
            return submit
        salt = f"{submit.options.cache_salt or ''}#{self._num_resets}"
        options = msgspec.structs.replace(submit.options, cache_salt=salt)
        return msgspec.structs.replace(submit, options=options)


def found(index: Index, text: str, top_k: int) -> list[Source]:
    """The chunks for a text, from the current documents."""
    index.refresh()
    return index.query(text, top_k)


def embedding_of(backend: Backend, text: str) -> tuple[list[float], float]:
    """The embedding of a text at length 1, and its own length; raises CactusError."""
    submit = make_submit(prompt=text, options={})
    result = backend.run(msgspec.structs.replace(submit, task="embed"), None)
    if result.error is not None:
        raise error_from_info(result.error)
    if not result.embedding or result.embedding_length is None:
        raise ServerFailure("the job ended without an embedding")
    return result.embedding, result.embedding_length


def _each_token(on_token: OnToken | None) -> OnDelta | None:
    if on_token is None:
        return None

    def on_delta(delta: Delta) -> None:
        # text after the last token has no id
        *others, last = delta.token_ids or [0]
        for token_id in others:
            on_token("", token_id)
        on_token(delta.text, last)

    return on_delta


def window_logprob(model: CactusModel, tokens: list[int], start: int, end: int, context: int) -> tuple[float, int]:
    """The sum of the log probabilities of tokens[start:end], given at most `context` tokens before `start`.

    Returns the sum and the number of its tokens: without context the first token is not counted.
    """
    if not 0 <= start < end <= len(tokens):
        raise InvalidRequest(f"the window [{start}, {end}) is not within {len(tokens)} tokens", param="start")
    if context < 0:
        raise InvalidRequest("context must not be negative", param="context")
    first = max(0, start - context)
    scores = model.score(tokens[first:end])[start - first :]
    known = [score for score in scores if score is not None]
    return sum(known), len(known)

"""The bodies of the C functions: convert arguments, call an SDK function, copy the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from cactus_actors import sdk
from cactus_actors.ffi.handles import Handles
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.sdk.last_error import CallFailed, LastError
from cactus_actors.sdk.result_json import failed, render

FAILED, TOO_SMALL = -1, -2
MAX_BYTES = 2**31 - 1


class _Outcome(msgspec.Struct):
    """The status fields of an answer; `error` with success explains an empty answer."""

    success: bool = True
    error: str | None = None


def define(ffi: Any) -> None:
    """Define the C functions of the library `ffi`."""
    calls = LibraryCalls(ffi)

    def answering(function: Callable[..., str]) -> Callable[..., int]:
        """A function whose text goes to the two arguments after its first ones: a buffer and its size."""
        num_before = 6 if function.__name__ == "score_window" else 2

        def call(*arguments: Any) -> int:
            buffer, size = arguments[num_before : num_before + 2]
            rest = arguments[:num_before] + arguments[num_before + 2 :]
            return calls.answer(function, rest, buffer, size)

        return call

    def guarded(function: Callable[..., Any], failure: Any) -> Callable[..., Any]:
        return lambda *arguments: calls.guard(function, arguments, failure)

    for name in ("complete", "prefill", "score_window", "rag_query"):
        ffi.def_extern(name=f"cactus_{name}")(answering(getattr(calls, name)))
    for name in ("tokenize", "embed", "copy_last_error"):
        ffi.def_extern(name=f"cactus_{name}")(guarded(getattr(calls, name), FAILED))
    for name in ("stop", "reset", "destroy"):
        ffi.def_extern(name=f"cactus_{name}")(guarded(getattr(calls, name), None))
    ffi.def_extern(name="cactus_init")(guarded(calls.init, ffi.NULL))


class LibraryCalls:
    """The functions by their names; `ffi` reads and writes C's memory."""

    def __init__(self, ffi: Any) -> None:
        self._ffi = ffi
        self._handles = Handles()

    def guard(self, function: Callable[..., Any], arguments: Sequence[Any], failure: Any) -> Any:
        """Call the function; returns `failure` on an exception, which must not reach C."""
        try:
            return function(*arguments)
        except CallFailed as error:
            LastError.note(str(error))
        except Exception as error:
            LastError.note(f"unexpected {type(error).__name__}: {error}")
        return failure

    def answer(self, function: Callable[..., str], arguments: Sequence[Any], buffer: Any, size: int) -> int:
        """Write the function's text, or an error as JSON if it fits; returns the bytes written or -1."""
        if not buffer or size == 0:
            LastError.note("there is no buffer for the answer")
            return FAILED
        buffer[0] = b"\0"
        answer: str | None = self.guard(function, arguments, None)
        if answer is None:
            answer = render(failed(InvalidRequest(LastError.message)))
        outcome = msgspec.json.decode(answer, type=_Outcome)
        if outcome.success and not self._fits(answer, buffer, size):
            LastError.note(f"the answer has {len(answer.encode())} bytes, the buffer {size}")
            answer, outcome = render(failed(InvalidRequest(LastError.message))), _Outcome(success=False)
        if not outcome.success:
            self._fits(answer, buffer, size)
            return FAILED
        return 0 if outcome.error is not None else len(answer.encode())

    def init(self, model_path: Any, corpus_dir: Any, cache_index: bool) -> Any:
        name = self._required(model_path, "model_path")
        model = sdk.cactus_init(name, self._text(corpus_dir), bool(cache_index))
        return self._ffi.cast("void *", self._handles.add(model))

    def complete(self, model: Any, messages: Any, options: Any, tools: Any, callback: Any, user_data: Any) -> str:
        def on_token(text: str, token_id: int) -> None:
            callback(self._ffi.new("char[]", text.encode()), token_id, user_data)

        return sdk.cactus_complete(
            self._model(model),
            self._required(messages, "messages_json"),
            self._text(options),
            self._text(tools),
            on_token if callback else None,
        )

    def prefill(self, model: Any, messages: Any, options: Any, tools: Any) -> str:
        messages_json = self._required(messages, "messages_json")
        return sdk.cactus_prefill(self._model(model), messages_json, self._text(options), self._text(tools))

    def tokenize(self, model: Any, text: Any, buffer: Any, size: int, out_len: Any) -> int:
        token_ids = sdk.cactus_tokenize(self._model(model), self._required(text, "text"))
        return self._copy(token_ids, buffer, size, out_len)

    def score_window(self, model: Any, tokens: Any, num_tokens: int, start: int, end: int, context: int) -> str:
        if not tokens:
            raise CallFailed("tokens is NULL")
        token_ids = self._ffi.unpack(tokens, num_tokens)
        return sdk.cactus_score_window(self._model(model), token_ids, start, end, context)

    def embed(self, model: Any, text: Any, buffer: Any, size: int, out_dim: Any, normalize: bool) -> int:
        embedding = sdk.cactus_embed(self._model(model), self._required(text, "text"), bool(normalize))
        return self._copy(embedding, buffer, size, out_dim)

    def rag_query(self, model: Any, query: Any, top_k: int) -> str:
        return sdk.cactus_rag_query(self._model(model), self._required(query, "query"), top_k)

    def stop(self, model: Any) -> None:
        sdk.cactus_stop(self._model(model))

    def reset(self, model: Any) -> None:
        sdk.cactus_reset(self._model(model))

    def destroy(self, model: Any) -> None:
        if model:
            sdk.cactus_destroy(self._handles.remove(self._number(model)))

    def copy_last_error(self, buffer: Any, size: int) -> int:
        message = sdk.cactus_get_last_error().replace("\0", " ").encode(errors="replace")
        whole_characters = message[: size - 1].decode(errors="ignore")
        self._fits(whole_characters, buffer, size)
        return 0

    def _model(self, model: Any) -> sdk.CactusModel:
        return self._handles.find(self._number(model))

    def _number(self, model: Any) -> int:
        return int(self._ffi.cast("uintptr_t", model))

    def _required(self, text: Any, name: str) -> str:
        found = self._text(text)
        if found is None:
            raise CallFailed(f"{name} is NULL")
        return found

    def _text(self, text: Any) -> str | None:
        if not text:
            return None
        try:
            return bytes(self._ffi.string(text)).decode()
        except UnicodeDecodeError as error:
            raise CallFailed(f"an argument is not UTF-8: {error}") from None

    def _fits(self, text: str, buffer: Any, size: int) -> bool:
        """Write text and NUL, unless they exceed the buffer."""
        content = text.encode()
        if len(content) >= size or len(content) > MAX_BYTES:
            return False
        self._ffi.memmove(buffer, content + b"\0", len(content) + 1)
        return True

    def _copy(self, values: Sequence[float], buffer: Any, size: int, out_count: Any) -> int:
        if out_count:
            out_count[0] = len(values)
        if not buffer or len(values) > size:
            LastError.note(f"there are {len(values)} values, the buffer has room for {size if buffer else 0}")
            return TOO_SMALL
        buffer[0 : len(values)] = list(values)
        return 0

"""The functions of the Cactus engine, over this runtime.

Arguments and results in JSON are strings; lists and dicts are accepted too. A request that is refused or fails
returns an answer with `success` false. Impossible calls raise RuntimeError: a model that cannot be loaded, a
destroyed handle, an argument of a wrong type. In both cases `cactus_get_last_error` has the message.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.client.picture_files import with_read_pictures
from cactus_actors.config import HandoffSettings
from cactus_actors.config_models import WeightFormat
from cactus_actors.protocol.errors import CactusError, InvalidRequest
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result
from cactus_actors.retrieval import NUM_SOURCES
from cactus_actors.sdk.backend_choice import backend_of
from cactus_actors.sdk.corpus_index import index_of
from cactus_actors.sdk.last_error import CallFailed, LastError, noted
from cactus_actors.sdk.model_handle import CactusModel, OnToken, window_logprob
from cactus_actors.sdk.result_json import failed, render

JsonList = str | Sequence[Mapping[str, Any]]
JsonObject = str | Mapping[str, Any]


def cactus_init(
    model_path: str | os.PathLike[str],
    corpus_dir: str | os.PathLike[str] | None = None,
    cache_index: bool = False,
    *,
    weights: WeightFormat = "int8",
    threads: int | None = None,
    handoff: HandoffSettings | None = None,
    stream_endpoint: str | None = None,
) -> CactusModel:
    """A handle to a model in this process, or at a running service.

    A model is an embedded model's name, a directory, a GGUF file, or `owner/name` on the Hugging Face hub.
    `threads` defaults to the CPUs that this process may use. `handoff` names the cloud that may answer jobs of low
    confidence, once there is a key for it. A service is the `tcp://HOST:PORT` of its jobs endpoint, or the
    `http://HOST:PORT` of its gateway, with the API key in CACTUS_API_KEY; it has its own `weights`, `threads` and
    cloud. `stream_endpoint` is for a tcp one that does not publish on the next port.

    The best chunks of the text and Markdown files below `corpus_dir` are added to the prompt of a question; with
    `cache_index` their embeddings are kept on disk.
    """
    with noted():
        backend = backend_of(os.fspath(model_path), stream_endpoint, weights, threads, handoff)
        try:
            index = None if corpus_dir is None else index_of(Path(corpus_dir), backend, kept=cache_index)
        except BaseException:
            backend.close()
            raise
        return CactusModel(backend, index)


def cactus_complete(
    model: CactusModel,
    messages: JsonList,
    options: JsonObject | None = None,
    tools: JsonList | None = None,
    callback: OnToken | None = None,
) -> str:
    """The model's answer to a conversation, as a JSON object.

    `callback(token, token_id)` is called with each token as it arrives; an exception of it cancels the generation
    and is raised here. Unknown options are listed in `ignored_options`. The `images` of a message are paths of files
    here, or data URLs; a service may also fetch http and https URLs.
    """
    result, ignored = _completed(model, messages, options, tools, callback, {})
    return render(result, ignored)


def cactus_prefill(
    model: CactusModel,
    messages: JsonList,
    options: JsonObject | None = None,
    tools: JsonList | None = None,
) -> str:
    """Compute a conversation's prompt ahead, so that `cactus_complete` finds it in the cache; JSON."""
    result, _ = _completed(model, messages, options, tools, None, {"max_tokens": 0})
    fields = {
        "success": result.success,
        "error": None if result.error is None else result.error.message,
        "prefill_tokens": result.usage.prompt_tokens,
        "cached_tokens": result.usage.cached_tokens,
        "prefill_tps": result.timings.prefill_tokens_per_second,
        "total_time_ms": result.timings.total_time_ms,
        "ram_usage_mb": result.ram_usage_mb,
    }
    return msgspec.json.encode(fields).decode()


def cactus_tokenize(model: CactusModel, text: str) -> list[int]:
    """The token ids of `text`; special tokens that it names are one id each."""
    with noted():
        return _checked(model).encode(text)


def cactus_embed(model: CactusModel, text: str, normalize: bool = True) -> list[float]:
    """The embedding of `text`: its tokens' last hidden states, averaged, and brought to length 1."""
    with noted():
        return _checked(model).embed(text, normalize=normalize)


def cactus_score_window(model: CactusModel, tokens: Sequence[int], start: int, end: int, context: int) -> str:
    """The log probability of tokens[start:end] after at most `context` tokens before them, as JSON.

    `logprob` is the sum of natural log probabilities over `tokens` tokens.
    """
    with noted():
        logprob, num_tokens = window_logprob(_checked(model), list(tokens), start, end, context)
        return msgspec.json.encode({"success": True, "logprob": logprob, "tokens": num_tokens}).decode()


def cactus_rag_query(model: CactusModel, query: str, top_k: int = NUM_SOURCES) -> str:
    """The best `top_k` chunks of the model's corpus for a query, as JSON: `chunks`, best first."""
    with noted():
        sources = _checked(model).query(query, top_k)
        error = "the model was made without a corpus" if sources is None else None
        return msgspec.json.encode({"chunks": sources or [], "error": error}).decode()


def cactus_stop(model: CactusModel) -> None:
    """Stop the running generation, from any thread or the callback; its caller gets the text so far."""
    with noted():
        _checked(model).stop()


def cactus_reset(model: CactusModel) -> None:
    """Forget all conversations so far."""
    with noted():
        _checked(model).reset()


def cactus_destroy(model: CactusModel) -> None:
    """Stop the running call and free the model; a second time changes nothing."""
    with noted():
        _checked(model).destroy()


def cactus_get_last_error() -> str:
    """The message of the last failed call in this process; empty if none failed."""
    return LastError.message


def _completed(
    model: CactusModel,
    messages: JsonList,
    options: JsonObject | None,
    tools: JsonList | None,
    callback: OnToken | None,
    forced_options: Mapping[str, Any],
) -> tuple[Result, list[str]]:
    """The result, and the options that were ignored."""
    with noted():
        checked = _checked(model)
        ignored: list[str] = []
        try:
            wanted = _decoded(options, dict[str, Any], "options") or {}
            ignored = [name for name in wanted if name not in Options.__struct_fields__]
            known = {name: value for name, value in wanted.items() if name in Options.__struct_fields__}
            result = checked.complete(
                with_read_pictures(_decoded(messages, list[dict[str, Any]], "messages") or [], Path()),
                _decoded(tools, list[dict[str, Any]], "tools"),
                {**known, **forced_options},
                callback,
            )
        except CactusError as error:
            result = failed(error)
        if result.error is not None:
            LastError.note(result.error.message)
        return result, ignored


def _decoded(value: Any, wanted: Any, name: str) -> Any:
    """The list or object of a JSON text; None for null and empty text."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            return msgspec.json.decode(value, type=wanted | None)
        return msgspec.convert(value, wanted)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InvalidRequest(f"{name}: {error}", param=name) from None


def _checked(model: object) -> CactusModel:
    if not isinstance(model, CactusModel):
        raise CallFailed("Model not initialized" if model is None else f"not a model: {model!r:.80}")
    return model

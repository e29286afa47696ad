"""Paths of other servers' APIs that are not served here, with their origin and a replacement."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

MAX_SHOWN_CHARACTERS = 100

_MORE = " (GET /docs lists every path)"
_CHAT = "/v1/chat/completions"
_TEXT = "/v1/completions"
_EMBEDDINGS = "/v1/embeddings"
_RESPONSES = "/v1/responses"
_OLLAMA = "Ollama's API"
_MISTRAL = "Mistral's API"
_OPENAI = "OpenAI's API"
_LLAMA_CPP = "llama.cpp's server"
_TGI = "Text Generation Inference's API"
_WITHOUT_V1 = "a path of OpenAI's API without its /v1"

_FOREIGN: tuple[tuple[str, str, str | None], ...] = (
    (r"/v1/complete", "Anthropic's API", _TEXT),
    (r"/v1/(assistants|conversations|responses/compact|threads)(/.*)?", _OPENAI, _RESPONSES),
    (r"/v1/engines/[^/]+/(completions|embeddings)", _OPENAI, _TEXT),
    (r"/v1/(audio|images|videos|moderations|fine_tuning|fine-tunes|vector_stores)(/.*)?", _OPENAI, None),
    (r"/openai/deployments/[^/]+/chat/completions", "Azure's API", _CHAT),
    (r"/openai/deployments/[^/]+/completions", "Azure's API", _TEXT),
    (r"/openai/deployments/[^/]+/embeddings", "Azure's API", _EMBEDDINGS),
    (r"/v1/agents/completions", _MISTRAL, _CHAT),
    (r"/v1/(ocr|classifications|chat/moderations|chat/classifications)", _MISTRAL, None),
    (r"/api/(pull|push|create|copy|delete|blobs)(/.*)?", _OLLAMA, None),
    (r"/generate(_stream)?", _TGI, _TEXT),
    (r"/(props|slots)(/.*)?", _LLAMA_CPP, "/v1/models and /metrics"),
    (r"/embeddings?", _LLAMA_CPP, _EMBEDDINGS),
    (r"/(v1/)?reranking", _LLAMA_CPP, "/v1/rerank"),
    (r"/lora-adapters", _LLAMA_CPP, None),
    (r"/chat/completions", _WITHOUT_V1, _CHAT),
    (r"/(models|files|batches)(/.*)?", _WITHOUT_V1, r"/v1/\1"),
)
"""(expression for a path, its API, the path to use instead or None)"""


def suggestion_for(method: str, path: str, served: Sequence[str]) -> str:
    """The message for an unknown `path`, with the one of the `served` paths to use instead."""
    shown = f"{method} {path[:MAX_SHOWN_CHARACTERS]}"
    for expression, whose, instead in _FOREIGN:
        found = re.fullmatch(expression, path.rstrip("/"))
        if found is not None and instead is not None:
            return f"{shown}: this is {whose}; use {found.expand(instead)} here{_MORE}"
        if found is not None:
            return f"{shown}: this is {whose}, and there is nothing like it here{_MORE}"
    if path.startswith("/v1/v1/"):
        return f"{shown}: the base URL and the path both have /v1; use {path[3:][:MAX_SHOWN_CHARACTERS]}{_MORE}"
    nearest = difflib.get_close_matches(path[:MAX_SHOWN_CHARACTERS], served, n=1, cutoff=0.8)
    if nearest:
        return f"{shown}: there is no such path; did you mean {nearest[0]}?{_MORE}"
    return f"{shown}: the APIs served here (OpenAI, Anthropic, Ollama, llama.cpp) have no such path{_MORE}"

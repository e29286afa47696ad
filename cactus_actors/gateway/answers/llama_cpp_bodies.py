"""Results in the format of llama.cpp's native endpoint."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from cactus_actors.api.openai import BodyRequest
from cactus_actors.api.openai.response_fields import extensions_of, seed_fields
from cactus_actors.protocol.messages import Accepted, Delta
from cactus_actors.protocol.results import Result, TokenLogprob


class LlamaCppBody:
    """Writes the results of one request."""

    def __init__(self, asked: BodyRequest, model: str, *, returns_tokens: bool) -> None:
        self._asked = asked
        self._model = asked.model or model
        self.returns_tokens = returns_tokens

    def whole(self, choice: int, result: Result) -> dict[str, Any]:
        """The body of an answer that was not streamed."""
        text = (result.prompt_text or "") + result.text
        body = {"content": text, "tokens": result.token_ids if self.returns_tokens else []}
        if result.logprobs is not None:
            body["completion_probabilities"] = probabilities(result.logprobs)
        return body | self.ending(choice, result)

    def ending(self, choice: int, result: Result) -> dict[str, Any]:
        """The fields of the last message, streamed or not."""
        submit = self._asked.submits[choice]
        extensions = extensions_of(self._asked, result)
        return {
            "index": choice,
            "id_slot": -1,
            "stop": True,
            "stop_type": _stop_type(result),
            "stopping_word": result.stop_match if isinstance(result.stop_match, str) else "",
            "model": result.model if result.cloud_handoff else self._model,
            "prompt": submit.prompt,
            "generation_settings": {**msgspec.to_builtins(submit.options), **seed_fields(result)},
            "tokens_predicted": result.usage.completion_tokens,
            "tokens_evaluated": result.usage.prompt_tokens,
            "tokens_cached": result.usage.cached_tokens,
            "truncated": False,
            "has_new_line": "\n" in result.text,
            "timings": extensions.pop("timings"),
            **extensions,
        }


class LlamaCppChunks:
    """Writes the events of one request; the last of a choice has an empty `content` and `stop` true."""

    def __init__(self, body: LlamaCppBody) -> None:
        self._body = body
        self._num_prompt_tokens: dict[int, int] = {}
        self._num_tokens: Counter[int] = Counter()

    def accepted(self, choice: int, accepted: Accepted) -> list[dict[str, Any]]:
        """No chunk, except for an echoed prompt."""
        self._num_prompt_tokens[choice] = accepted.prompt_tokens
        return [self._chunk(choice, accepted.prompt_text, [])] if accepted.prompt_text else []

    def delta(self, choice: int, delta: Delta) -> list[dict[str, Any]]:
        """The new text, if there is any."""
        self._num_tokens[choice] += len(delta.token_ids)
        if not delta.text and not self._body.returns_tokens:
            return []
        chunk = self._chunk(choice, delta.text, delta.token_ids)
        if delta.logprobs is not None:
            chunk["completion_probabilities"] = probabilities(delta.logprobs)
        return [chunk]

    def finished(self, choice: int, result: Result) -> list[dict[str, Any]]:
        """The end of a choice."""
        return [{"content": "", "tokens": [], **self._body.ending(choice, result)}]

    def usage(self) -> list[dict[str, Any]]:
        """No chunk: each choice has sent its own counts."""
        return []

    def _chunk(self, choice: int, text: str, token_ids: list[int]) -> dict[str, Any]:
        return {
            "index": choice,
            "content": text,
            "tokens": token_ids,
            "stop": False,
            "id_slot": -1,
            "tokens_predicted": self._num_tokens[choice],
            "tokens_evaluated": self._num_prompt_tokens.get(choice, 0),
        }


def probabilities(logprobs: list[TokenLogprob]) -> list[dict[str, Any]]:
    """`completion_probabilities`: each token and the likeliest alternatives."""
    return [
        {
            "id": one.token_id,
            "token": one.token,
            "bytes": one.bytes,
            "logprob": one.logprob,
            "top_logprobs": [
                {"id": other.token_id, "token": other.token, "logprob": other.logprob} for other in one.top
            ],
        }
        for one in logprobs
    ]


def _stop_type(result: Result) -> str:
    if result.finish_reason in ("length", "model_length"):
        return "limit"
    if result.finish_reason != "stop":
        return "none"
    return "word" if isinstance(result.stop_match, str) else "eos"

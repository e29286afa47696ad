"""A handle's jobs at a service's HTTP gateway."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec

from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.errors import CactusError, JobNotFound, Unavailable, error_from_info
from cactus_actors.protocol.messages import Delta, Submit
from cactus_actors.protocol.results import Result
from cactus_actors.sdk.backend import OnDelta

KEY_VARIABLE = "CACTUS_API_KEY"
CONNECT_TIMEOUT_S = 10.0
SILENCE_S = 60.0  # the gateway sends comments in silent streams
ASK_AGAIN_S = 0.05


class HttpBackend:
    """The gateway at `http(s)://HOST:PORT`, with the key of CACTUS_API_KEY if there is one.

    Streamed pieces have no token ids; each has the id 0. Raises Unavailable if nothing answers.
    """

    def __init__(self, url: str) -> None:
        key = os.environ.get(KEY_VARIABLE)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        timeout = httpx.Timeout(CONNECT_TIMEOUT_S, read=SILENCE_S)
        self._url = url
        self._http = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout)
        self._request_id: str | None = None
        try:
            [card] = self._json("GET", "/v1/models")["data"]
        except BaseException:
            self._http.close()
            raise
        self.model: str = card["id"]
        self.max_context: int = card["meta"]["n_ctx"]

    def run(self, submit: Submit, on_delta: OnDelta | None) -> Result:
        path, body = _request_of(submit)
        try:
            with self._http.stream("POST", path, json=body) as response:
                _check(response)
                self._request_id = response.headers["x-request-id"]
                for delta in _deltas(response, submit.job_id):
                    if on_delta is not None:
                        on_delta(delta)
            return self._result(self._request_id)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        finally:
            self._request_id = None

    def stop(self) -> None:
        if (request_id := self._request_id) is not None:
            with contextlib.suppress(JobNotFound):  # not there yet, or already ended
                self._json("DELETE", f"/v1/requests/{request_id}")

    def encode(self, text: str) -> list[int]:
        token_ids: list[int] = self._json("POST", "/tokenize", {"content": text})["tokens"]
        return token_ids

    def close(self) -> None:
        self._http.close()

    def _result(self, request_id: str) -> Result:
        while True:
            [choice] = self._json("GET", f"/v1/requests/{request_id}")["choices"]
            if choice["state"] == "ended":
                return msgspec.convert(choice["result"], Result)
            time.sleep(ASK_AGAIN_S)

    def _json(self, method: str, path: str, body: Any = None) -> Any:
        try:
            response = self._http.request(method, path, json=body)
            _check(response)
            return response.json()
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: httpx.HTTPError) -> Unavailable:
        return Unavailable(f"the service at {self._url} does not answer: {error}")


def _request_of(submit: Submit) -> tuple[str, dict[str, Any]]:
    """The endpoint and the body for a job."""
    if submit.task == "embed":
        return "/v1/embeddings", {"input": submit.prompt}
    fields: dict[str, Any] = msgspec.to_builtins(submit.options)
    if submit.messages is None:
        return "/v1/completions", {**fields, "prompt": submit.prompt}
    messages = msgspec.to_builtins(submit.messages)
    tools = {} if submit.tools is None else {"tools": submit.tools}
    return "/v1/chat/completions", {**fields, **tools, "messages": messages, "stream": True}


def _deltas(response: httpx.Response, job_id: str) -> Iterator[Delta]:
    """The pieces of an event stream, text and reasoning; none for an answer without streaming."""
    index = itertools.count()
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        response.read()
        return
    for line in response.iter_lines():
        if line.startswith("data: {"):
            for choice in msgspec.json.decode(line.removeprefix("data: ")).get("choices", ()):
                text = choice["delta"].get("content") or ""
                reasoning = choice["delta"].get("reasoning_content") or ""
                if text or reasoning:
                    yield Delta(job_id=job_id, index=next(index), token_ids=[0], text=text, reasoning_content=reasoning)


def _check(response: httpx.Response) -> None:
    """Raise the error of a response."""
    if response.is_success:
        return
    response.read()
    try:
        error = response.json()["error"]
        info = ErrorInfo(type=error["type"], status=error["code"], message=error["message"], param=error.get("param"))
    except (ValueError, LookupError, TypeError):
        raise CactusError(f"{response.url} answered {response.status_code} {response.reason_phrase}") from None
    raise error_from_info(info)

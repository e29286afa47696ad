"""JSON readers with float64 numbers read every seed and every other integer exactly."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from cactus_actors.api.openai import BodyRequest, completion_body, request_from_body
from cactus_actors.api.params import resolve_options
from cactus_actors.client.submit import encoded, make_submit, new_job_id
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.exact_integers import MAX_EXACT, is_exact, seed_of_job, text_if_inexact
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result, ToolCall
from cactus_actors.protocol.wire import JSON, client_message_decoder, encode
from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.sdk.result_json import render
from cactus_actors.tools.call_rendering import render_calls
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.worker_messages import make_delta
from tests.support.text.read_integers import inexact_integers

LARGEST = 2**64 - 1
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "pay"}}


def of_a_resolved_job() -> int:
    return resolve_options(Options())[0].seed


def of_a_body() -> int:
    name = new_job_id()
    request = request_from_body("/v1/completions", {"prompt": "a", "seed": None}, lambda _: name)
    return resolve_options(request.submits[0].options)[0].seed


def of_a_client() -> int:
    submit = client_message_decoder().decode(encoded(make_submit("a", options={"seed": -1})).frames)
    assert isinstance(submit, Submit)
    return resolve_options(submit.options)[0].seed


@pytest.mark.parametrize("drawn", [of_a_resolved_job, of_a_body, of_a_client])
def test_a_drawn_seed_is_exact_in_every_json_reader(drawn: Callable[[], int]) -> None:
    seeds = [drawn() for _ in range(400)]
    assert max(seeds) <= MAX_EXACT
    assert max(seeds) > MAX_EXACT // 4  # all bits are drawn
    assert len(set(seeds)) == 400


def test_the_default_seed_follows_from_the_job_id() -> None:
    assert seed_of_job("f" * 32) == MAX_EXACT
    assert seed_of_job("0" * 32) == 0
    assert seed_of_job("0123456789abcdef" + "0" * 16) == 0x0123456789ABCDEF >> 11


@pytest.mark.parametrize("name", ["seed", "random_seed"])
def test_a_seed_may_be_a_decimal_string(name: str) -> None:
    for seed in (0, 7, MAX_EXACT + 2, LARGEST):
        options = msgspec.convert({name: str(seed)}, Options)
        assert resolve_options(options)[0].seed == seed
    both = msgspec.convert({"seed": "7", "random_seed": 7}, Options)
    assert resolve_options(both)[0].seed == 7
    assert resolve_options(msgspec.convert({name: "-1"}, Options))[0].seed <= MAX_EXACT
    with pytest.raises(InvalidRequest) as refused:
        resolve_options(msgspec.convert({name: str(LARGEST + 1)}, Options))
    assert refused.value.param == name


@pytest.mark.parametrize("wrong", ["", "seven", "-2", "1e3", "0x1", "٣", "1" * 21])
def test_an_invalid_seed_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        request_from_body("/v1/completions", {"prompt": "a", "seed": wrong}, lambda _: "0" * 32)
    assert refused.value.param == "seed"


def test_integers_beyond_2_53_are_inexact_in_some_json_readers() -> None:
    assert text_if_inexact(MAX_EXACT) is None
    assert text_if_inexact(MAX_EXACT + 1) == "9007199254740992"
    assert is_exact({"a": [1, -MAX_EXACT, True, "x", 1.5, None]})
    assert not is_exact({"a": [{"b": -MAX_EXACT - 1}]})


def told(seed: int, text: str = "", tools: list[dict[str, Any]] | None = None) -> tuple[list[bytes], Result]:
    """A job with that seed and its result, in JSON."""
    router = RouterHarness()
    router.connect()
    options = Options(seed=seed, max_tokens=2000)
    messages = json.loads('[{"role": "user", "content": "hi"}]')
    submit = msgspec.convert({"job_id": job_id(1), "messages": messages, "tools": tools, "options": options}, Submit)
    router.client(submit)
    router.generate(1, text or "a", finish=Finish("stop"))
    return [encode(reply, JSON)[1] for _, reply in router.replies], router.result(1)


def test_a_large_seed_is_also_given_as_text() -> None:
    accepted, finished = [json.loads(reply) for reply in told(LARGEST)[0]]
    assert (accepted["seed"], accepted["seed_text"]) == (LARGEST, str(LARGEST))
    assert (finished["result"]["seed"], finished["result"]["seed_text"]) == (LARGEST, str(LARGEST))
    accepted, finished = [json.loads(reply) for reply in told(MAX_EXACT)[0]]
    assert "seed_text" not in accepted
    assert finished["result"]["seed_text"] is None


def test_a_large_seed_is_also_given_as_text_by_every_api() -> None:
    result = told(LARGEST)[1]
    request = BodyRequest(endpoint="chat", submits=[Submit(job_id=job_id(1), messages=[])])
    body = completion_body(request, [result], completion_id="c", created=1)
    native = json.loads(render(result))
    assert (body["seed"], body["seed_text"]) == (native["seed"], native["seed_text"]) == (LARGEST, str(LARGEST))
    small = completion_body(request, [told(5)[1]], completion_id="c", created=1)
    assert "seed_text" not in small


def test_large_call_arguments_are_also_given_as_text() -> None:
    exact, large = ToolCall("pay", {"account": MAX_EXACT}), ToolCall("pay", {"account": [MAX_EXACT + 2]})
    replies, result = told(1, render_calls("hermes", [exact, large]), [TOOL])
    assert [call.arguments for call in result.tool_calls] == [exact.arguments, large.arguments]
    assert [call.arguments_text for call in result.tool_calls] == [None, '{"account":[9007199254740993]}']
    assert inexact_integers(replies[-1]) == ["9007199254740993"]
    assert json.loads(render(result))["tool_calls"][1]["arguments_text"] == '{"account":[9007199254740993]}'


def test_all_other_integers_are_exact() -> None:
    assert [inexact_integers(reply) for reply in told(MAX_EXACT)[0]] == [[], []]
    router = RouterHarness()
    worker = router.connect()
    router.submit(1)
    router.report(worker, make_delta(router.running(1)[1].dispatch_id, 0, "abc"))
    status = router.core.status(router.now, with_totals=True)
    assert inexact_integers(encode(status, JSON)[1]) == []

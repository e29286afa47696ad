"""Outputs of a job other than its text, in its dispatch, its stream and its result."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from cactus_actors.protocol.messages import Accepted, ChatMessage, Resume, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Alternative, TokenLogprob, ToolCall
from cactus_actors.protocol.worker_messages import Finish, SequenceExtras
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.worker_messages import UNSURE

STOP = Finish("stop")
CALL = '<tool_call>\n{"name": "time", "arguments": {}}\n</tool_call>'
TOOLS = [{"name": "time"}]


@pytest.fixture
def router() -> RouterHarness:
    router = RouterHarness()
    router.connect("w1")
    return router


def ask(router: RouterHarness, *, chat: bool = False, tools: Any = None, **fields: Any) -> Accepted:
    options = Options(seed=3, **fields.pop("options", {}))
    question = {"messages": [ChatMessage(role="user", content="hi")]} if chat else {"prompt": "hi"}
    submit = Submit(job_id=job_id(1), tools=tools, options=options, **question, **fields)  # type: ignore[arg-type]
    [accepted, *_] = router.client(submit)
    assert isinstance(accepted, Accepted), accepted
    return accepted


def token(text: str, logprob: float | None, **top: float) -> TokenLogprob:
    others = [Alternative(ord(other), other, value) for other, value in top.items()]
    return TokenLogprob(token_id=ord(text), token=text, bytes=list(text.encode()), logprob=logprob, top=others)


def test_a_dispatch_has_choice_task_and_grammar(router: RouterHarness) -> None:
    ask(router, choice=2, options={"regex": "a+"})
    dispatch = router.running(1)[1]
    assert (dispatch.choice, dispatch.task) == (2, "generate")
    assert "a+" in dispatch.grammar


def test_log_probabilities_are_in_the_stream_and_the_result(router: RouterHarness) -> None:
    router.subscribe(1)
    ask(router, options={"logprobs": 2})
    assert router.running(1)[1].params.num_logprobs == 2
    top = [[(97, -0.1), (1, -0.5)], [(98, -0.1), (99, -3.0)]]
    router.generate(1, "ab", extras=SequenceExtras(top=top))
    router.generate(1, "c", finish=STOP)
    first = TokenLogprob(
        token_id=97,
        token="a",
        bytes=[97],
        logprob=-0.1,
        top=[Alternative(97, "a", -0.1), Alternative(1, "<s>", -0.5)],
    )
    told = [first, token("b", -0.1, b=-0.1, c=-3.0), token("c", -0.1)]
    assert [delta.logprobs for delta in router.deltas(1)] == [told[:2], told[2:]]
    assert router.result(1).logprobs == told
    assert router.result(1).prompt_logprobs is None
    [replay] = router.client(Resume(job_id=job_id(1), next_index=1))
    assert replay.deltas[0].logprobs == told[1:]


def test_tokens_of_a_lost_worker_are_not_published_again(router: RouterHarness) -> None:
    worker = next(iter(router.workers.values()))
    ask(router, options={"logprobs": 1})
    router.generate(1, "a", extras=SequenceExtras(top=[[(97, -0.1)]]))
    router.connect("w2")
    router.lose(worker)
    router.generate(1, "b", extras=SequenceExtras(top=[[(98, -0.2)]]), finish=STOP)
    logprobs = router.result(1).logprobs
    assert logprobs is not None
    assert [one.top[0].token for one in logprobs] == ["a", "b"]


def test_without_a_request_there_are_no_log_probabilities(router: RouterHarness) -> None:
    router.subscribe(1)
    ask(router)
    router.generate(1, "a", finish=STOP)
    assert router.result(1).logprobs is None
    assert [delta.logprobs for delta in router.deltas(1)] == [None]


def test_an_echo_begins_with_the_prompt_and_its_probabilities(router: RouterHarness) -> None:
    router.subscribe(1)
    accepted = ask(router, options={"echo": True, "logprobs": 1})
    assert accepted.prompt_text == "hi"
    begun: list[tuple[float, list[tuple[int, float]]]] = [(math.nan, []), (-1.0, [(104, -1.0)])]
    rest: list[tuple[float, list[tuple[int, float]]]] = [(-2.0, [(106, -0.5)])]
    router.generate(1, "", extras=SequenceExtras(prompt=begun))
    router.generate(1, "", extras=SequenceExtras(prompt=begun[1:] + rest, prompt_position=1))
    router.generate(1, "a")
    router.generate(1, "b", finish=STOP)
    start = TokenLogprob(token_id=1, token="<s>")
    told = [start, token("h", -1.0, h=-1.0), token("i", -2.0, j=-0.5)]
    assert [delta.prompt_logprobs for delta in router.deltas(1)] == [told, None]
    result = router.result(1)
    assert (result.prompt_text, result.prompt_logprobs) == ("hi", told)


def test_a_prompt_without_generation_is_scored(router: RouterHarness) -> None:
    ask(router, options={"echo": True, "logprobs": 0, "max_tokens": 0})
    told: list[tuple[float, list[tuple[int, float]]]] = [(math.nan, []), (-1.0, []), (-2.0, [])]
    router.generate(1, "", extras=SequenceExtras(prompt=told), finish=Finish("length"))
    result = router.result(1)
    assert result.prompt_logprobs is not None
    assert [one.logprob for one in result.prompt_logprobs] == [None, -1.0, -2.0]
    assert (result.text, result.logprobs) == ("", [])


def test_mirostat_continues_on_another_worker(router: RouterHarness) -> None:
    worker = next(iter(router.workers.values()))
    ask(router, options={"mirostat": 2})
    assert router.running(1)[1].mirostat_mu is None
    router.generate(1, "ab", extras=SequenceExtras(mirostat_mu=7.5))
    router.connect("w2")
    router.lose(worker)
    dispatch = router.running(1)[1]
    assert (dispatch.emitted_ids, dispatch.mirostat_mu) == ([97, 98], 7.5)


def test_an_embedding_is_in_the_result(router: RouterHarness) -> None:
    ask(router, task="embed")
    assert router.running(1)[1].task == "embed"
    extras = SequenceExtras(embedding=[0.6, 0.8], embedding_length=5.0)
    router.generate(1, "", extras=extras, finish=STOP)
    result = router.result(1)
    assert (result.embedding, result.embedding_length) == ([0.6, 0.8], 5.0)


def test_a_result_has_the_memory_of_its_worker(router: RouterHarness) -> None:
    ask(router)
    worker, _ = router.running(1)
    router.say(worker, msgspec.structs.replace(worker.report(), ram_usage_mb=256.0))
    router.stop()
    assert router.result(1).ram_usage_mb == 256.0


def test_calls_are_removed_from_the_text_and_set_the_finish_reason(router: RouterHarness) -> None:
    accepted = ask(router, chat=True, tools=TOOLS)
    assert accepted.tool_markup == "hermes"
    router.generate(1, f"Wait. {CALL}", finish=STOP)
    result = router.result(1)
    assert (result.text, result.tool_calls) == ("Wait.", [ToolCall("time", {})])
    assert result.finish_reason == "tool_calls"
    assert (result.stream_text, len(result.token_ids)) == (f"Wait. {CALL}", len(f"Wait. {CALL}"))


@pytest.mark.parametrize("text", ["plain", "<tool_call>{bro</tool_call>"])
def test_text_without_a_call_is_unchanged(router: RouterHarness, text: str) -> None:
    ask(router, chat=True, tools=TOOLS)
    router.generate(1, text, finish=STOP)
    result = router.result(1)
    assert (result.text, result.tool_calls, result.finish_reason) == (text, [], "stop")
    assert result.stream_text is None


def test_calls_are_parsed_only_if_tools_were_offered(router: RouterHarness) -> None:
    accepted = ask(router, chat=True)
    assert accepted.tool_markup is None
    router.generate(1, CALL, finish=STOP)
    assert (router.result(1).text, router.result(1).tool_calls) == (CALL, [])


def test_without_parallel_calls_only_the_first_is_returned(router: RouterHarness) -> None:
    ask(router, chat=True, tools=TOOLS, options={"parallel_tool_calls": False})
    router.generate(1, CALL + CALL, finish=STOP)
    assert router.result(1).tool_calls == [ToolCall("time", {})]


def test_selected_tools_are_reported(router: RouterHarness) -> None:
    tools = [{"name": "hi"}, {"name": "other"}]
    ask(router, chat=True, tools=tools, options={"tool_rag_top_k": 1})
    router.generate(1, "a", finish=STOP)
    assert router.result(1).selected_tools == ["hi"]


@pytest.mark.parametrize(("profile", "reason"), [("mistral", "model_length"), ("cactus", "length")])
def test_the_mistral_profile_has_a_finish_reason_for_the_end_of_the_context(
    router: RouterHarness, profile: Any, reason: str
) -> None:
    ask(router, profile=profile, options={"max_tokens": -1})
    router.generate(1, "a", finish=Finish("length"))
    assert router.result(1).finish_reason == reason


def test_max_tokens_is_not_reported_as_the_end_of_the_context(router: RouterHarness) -> None:
    ask(router, profile="mistral", options={"max_tokens": 5})
    router.generate(1, "a", finish=Finish("length"))
    assert router.result(1).finish_reason == "length"


def test_constrained_answers_are_not_handed_off(router: RouterHarness) -> None:
    router.connect("cloud", kind="cloud")
    ask(router, options={"regex": "a+", "cloud_handoff_threshold": 0.9})
    router.generate(1, "a", entropy=UNSURE, finish=STOP)
    handoff = router.result(1).handoff
    assert (handoff.status, handoff.reason) == ("suppressed", "a cloud does not enforce regex")

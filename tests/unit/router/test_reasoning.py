"""A job whose model reasons: its preparation, its stream, its result, its confidence gates."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from cactus_actors.protocol.content_part import ContentPart
from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.messages import ChatMessage, Delta, Resume, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Usage
from cactus_actors.protocol.sampling_params import ReasoningParams
from cactus_actors.protocol.worker_messages import Finish, SequenceDelta
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.text.chat_prompt import ChatPrompt
from cactus_actors.text.model_reasoning import ModelReasoning
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.letter_model import LetterModel
from tests.support.router.memory_journal import Disk
from tests.support.router.worker_messages import SURE, UNSURE, make_delta

STOP = Finish("stop")
USER = ChatMessage(role="user", content="why")


class ThinkingModel(LetterModel):
    """Reasons in `<think>`, with a configured end of the prompt; records its calls."""

    reasoning = ModelReasoning("think", ((250, "<think>"),))

    def __init__(self, start: Any = "undecided", *, thinks: bool = True) -> None:
        super().__init__()
        self._prompt = ChatPrompt([1, 2], start, thinks)
        self.asked: dict[str, Any] = {}

    def chat_prompt(self, messages: Any, tools: Any = None, **options: Any) -> ChatPrompt:
        self.asked = {"messages": messages, **options}
        return self._prompt


class ChannelModel(ThinkingModel):
    reasoning = ModelReasoning("harmony")


class UnknownMarks(ThinkingModel):
    reasoning = None


def prepared(
    model: LetterModel | None = None, *messages: ChatMessage, tools: Any = None, **options: Any
) -> PreparedRequest:
    submit = Submit(job_id=job_id(1), messages=list(messages) or [USER], tools=tools, options=Options(**options))
    return prepare(submit, model or ThinkingModel())


def ids_of(text: str) -> tuple[int, ...]:
    return tuple(map(ord, text))


# preparation


def test_the_markup_of_a_reasoning_model_is_in_the_params() -> None:
    job = prepared()
    assert job.params.reasoning == ReasoningParams("think")
    assert job.params.visible_tokens == ((250, "<think>"),)
    opened = prepared(ThinkingModel("reasoning")).params.reasoning
    assert opened == ReasoningParams("think", "reasoning")
    plain = prepared(LetterModel())
    assert (plain.params.reasoning, plain.params.visible_tokens) == (None, ())


def test_raw_prompts_have_no_reasoning_and_refuse_its_options() -> None:
    submit = Submit(job_id=job_id(1), prompt="why")
    assert prepare(submit, ThinkingModel()).params.reasoning is None
    for name, value in (
        ("enable_thinking", False),
        ("thinking_budget", 5),
        ("reasoning_effort", "low"),
        ("chat_template_kwargs", {}),
    ):
        with pytest.raises(InvalidRequest) as caught:
            prepare(replace(submit, options=Options(**{name: value})), ThinkingModel())  # type: ignore[arg-type]
        assert caught.value.param == name


@pytest.mark.parametrize(
    ("options", "budget"),
    [({"thinking_budget": 9}, 9), ({"enable_thinking": False}, 0), ({"reasoning_effort": "none"}, 0)],
)
def test_a_budget_forces_the_closing_mark(options: dict[str, Any], budget: int) -> None:
    assert prepared(**options).params.reasoning == ReasoningParams("think", budget=budget, close_ids=ids_of("</think>"))


def test_with_channels_a_budget_opens_the_answer_or_allows_a_call() -> None:
    final = "<|end|><|start|>assistant<|channel|>final<|message|>"
    reasoning = prepared(ChannelModel(), thinking_budget=9).params.reasoning
    assert reasoning is not None
    assert reasoning.close_ids == ids_of(final)
    reasoning = prepared(ChannelModel(), tools=[{"name": "f"}], thinking_budget=9).params.reasoning
    assert reasoning is not None
    assert reasoning.close_ids == ids_of("<|end|><|start|>assistant")


def test_with_channels_a_format_beside_tools_is_refused() -> None:
    asked: dict[str, Any] = {"tools": [{"name": "f"}], "response_format": {"type": "json_object"}}
    with pytest.raises(NotSupported) as caught:
        prepared(ChannelModel(), **asked)
    assert caught.value.param == "response_format"
    assert prepared(ChannelModel(), **asked, tool_choice="none").grammar
    assert prepared(ThinkingModel(), **asked).grammar


def test_a_budget_for_an_unknown_markup_is_refused() -> None:
    with pytest.raises(NotSupported) as caught:
        prepared(UnknownMarks(), thinking_budget=5)
    assert (caught.value.param, caught.value.status) == ("thinking_budget", 400)
    assert prepared(UnknownMarks(thinks=False), thinking_budget=5).params.reasoning is None
    assert prepared(LetterModel(), thinking_budget=5, enable_thinking=True).params.reasoning is None


def test_a_budget_is_refused_if_the_vocabulary_lacks_the_mark() -> None:
    class Latin(ThinkingModel):
        reasoning = ModelReasoning("kimi-vl")

    with pytest.raises(NotSupported, match="cannot write") as caught:
        prepared(Latin(), thinking_budget=5)
    assert caught.value.param == "thinking_budget"
    assert prepared(Latin()).params.reasoning == ReasoningParams("kimi-vl")


def test_the_template_gets_the_reasoning_options() -> None:
    model = ThinkingModel()
    prepared(model, thinking_budget=5, reasoning_effort="low", chat_template_kwargs={"tone": "dry"})
    assert model.asked["thinking"] is True
    assert model.asked["variables"] == {"thinking_budget": 5, "reasoning_effort": "low", "tone": "dry"}
    prepared(model)
    assert (model.asked["thinking"], model.asked["variables"]) == (None, {})


def test_past_reasoning_is_read_from_a_field_or_parts() -> None:
    model = ThinkingModel()
    parts = [ContentPart(type="thinking", thinking="so"), ContentPart(type="text", text="4")]
    mistral = [ContentPart(type="thinking", thinking=[{"type": "text", "text": "so"}])]
    answers = [
        ChatMessage(role="assistant", content="4", reasoning_content="so"),
        ChatMessage(role="assistant", content=parts),
        ChatMessage(role="assistant", content=mistral),
        ChatMessage(role="user", content="4", reasoning_content="mine"),
    ]
    job = prepared(model, *answers, USER)
    said = [(one.get("content"), one.get("reasoning_content")) for one in model.asked["messages"]]
    assert said == [("4", "so"), ("4", "so"), ("", "so"), ("4", None), ("why", None)]
    assert job.request.messages is not None


@pytest.mark.parametrize(
    "message",
    [
        ChatMessage(role="user", content=[ContentPart(type="thinking", thinking="so")]),
        ChatMessage(role="assistant", content=[ContentPart(type="thinking", thinking=5)]),
        ChatMessage(role="assistant", content=[ContentPart(type="thinking", thinking=[{"text": 5}])]),
    ],
)
def test_invalid_reasoning_parts_are_refused(message: ChatMessage) -> None:
    with pytest.raises(InvalidRequest) as caught:
        prepared(None, USER, message, USER)
    assert caught.value.param == "messages[1].content"


def test_a_begun_answer_may_have_reasoning() -> None:
    model = ThinkingModel("answer", thinks=False)
    begun = ChatMessage(role="assistant", content="It", reasoning_content="so", prefix=True)
    job = prepared(model, USER, begun)
    assert (model.asked["answer_begins"], model.asked["answer_reasoning"]) == ("It", "so")
    assert (job.prompt_text, job.params.reasoning) == ("It", ReasoningParams("think", "answer"))


def test_a_grammar_begins_after_the_reasoning_or_at_once() -> None:
    free = prepared(regex="[0-9]+")
    assert '"answer"' in free.grammar
    assert free.params.reasoning == ReasoningParams("think", keeps_space=True)
    silent = prepared(ThinkingModel(thinks=False), regex="[0-9]+")
    assert '"answer"' not in silent.grammar
    assert silent.params.reasoning == ReasoningParams("think", "answer", keeps_space=True)


# streams and results


def thought(dispatch_id: int, position: int, reasoning: str, text: str = "", **fields: Any) -> SequenceDelta:
    """One token per character: those of the reasoning are flagged, those of the text after it are not."""
    delta = make_delta(dispatch_id, position, text, token_ids=[7] * (len(reasoning) + len(text)), **fields)
    places = range(1, len(delta.token_ids))
    return replace(
        delta,
        reasoning=reasoning,
        reasoning_cuts=[min(place, len(reasoning)) for place in places],
        cuts=[max(0, place - len(reasoning)) for place in places],
        reasoning_flags=[1] * len(reasoning) + [0] * len(text) if reasoning else [],
    )


@pytest.fixture
def router() -> RouterHarness:
    router = RouterHarness()
    router.connect("w1")
    return router


def said(deltas: list[Delta]) -> tuple[str, str]:
    return "".join(one.reasoning_content for one in deltas), "".join(one.text for one in deltas)


def test_reasoning_is_streamed_apart_and_is_in_the_result(router: RouterHarness) -> None:
    router.subscribe(1)
    router.submit(1, "why")
    worker, dispatch = router.running(1)
    router.report(worker, thought(dispatch.dispatch_id, 0, "so "))
    router.report(worker, thought(dispatch.dispatch_id, 3, "it", "4"))
    router.report(worker, thought(dispatch.dispatch_id, 6, "", "2", finish=STOP))
    assert said(router.deltas(1)) == ("so it", "42")
    result = router.result(1)
    assert (result.reasoning_content, result.text, len(result.token_ids)) == ("so it", "42", 7)
    assert (result.usage.completion_tokens, result.usage.reasoning_tokens) == (7, 5)


@pytest.mark.parametrize("credit", [1, 2, 100])
@pytest.mark.parametrize("has_ended", [False, True])
def test_a_replay_has_the_reasoning_of_its_tokens(router: RouterHarness, credit: int, has_ended: bool) -> None:
    router.submit(1, "why")
    worker, dispatch = router.running(1)
    router.report(worker, thought(dispatch.dispatch_id, 0, "so", "42"))
    if has_ended:
        last = replace(make_delta(dispatch.dispatch_id, 4, "!", token_ids=[], finish=STOP), reasoning="?")
        router.report(worker, last)
    deltas: list[Delta] = []
    while sum(len(one.token_ids) for one in deltas) < 4:
        index = sum(len(one.token_ids) for one in deltas)
        [replay] = router.client(Resume(job_id=job_id(1), next_index=index, credit=credit))
        deltas += replay.deltas
    assert said(deltas) == (("so?", "42!") if has_ended else ("so", "42"))


def test_confidence_covers_the_answer_only(router: RouterHarness) -> None:
    router.submit(1, "why")
    worker, dispatch = router.running(1)
    router.report(worker, thought(dispatch.dispatch_id, 0, "hmmm", entropy=UNSURE))
    router.report(worker, thought(dispatch.dispatch_id, 4, "", "42", entropy=SURE, finish=STOP))
    result = router.result(1)
    assert result.confidence == pytest.approx(1 - SURE)
    assert (result.measures.entropy_max, result.measures.mean_logprob) == (SURE, -SURE)
    assert result.accepted


def test_tokens_that_become_part_of_the_answer_count(router: RouterHarness) -> None:
    router.submit(1, "why")
    worker, dispatch = router.running(1)
    number = dispatch.dispatch_id
    router.report(worker, replace(make_delta(number, 0, "", token_ids=[7], entropy=0.4), reasoning_flags=[1]))
    router.report(worker, replace(make_delta(number, 1, "\n4", token_ids=[7], entropy=0.2), reasoning_flags=[0, 0]))
    router.report(worker, make_delta(number, 2, "2", entropy=0.0, finish=STOP))
    result = router.result(1)
    assert (result.reasoning_content, result.text) == (None, "\n42")
    assert result.usage.reasoning_tokens == 0
    assert result.confidence == pytest.approx(1 - 0.2)


def test_reasoning_without_an_answer_has_no_confidence_and_is_not_accepted(router: RouterHarness) -> None:
    router.submit(1, "why")
    worker, dispatch = router.running(1)
    router.report(worker, thought(dispatch.dispatch_id, 0, "hm", finish=Finish("length")))
    result = router.result(1)
    assert (result.confidence, result.accepted, result.text) == (None, False, "")
    assert (result.reasoning_content, result.finish_reason) == ("hm", "length")


def test_a_stream_continues_on_another_worker_within_the_reasoning(router: RouterHarness) -> None:
    router.subscribe(1)
    router.submit(1, "why")
    worker, dispatch = router.running(1)
    router.report(worker, thought(dispatch.dispatch_id, 0, "so "))
    router.connect("w2")
    router.lose(worker)
    other, again = router.running(1)
    assert again.emitted_ids == [7, 7, 7]
    router.report(other, thought(again.dispatch_id, 3, "it", "4", finish=STOP))
    assert said(router.deltas(1)) == ("so it", "4")
    assert router.result(1).usage.reasoning_tokens == 5


@pytest.mark.parametrize("odd", [{"logprobs": []}, {"reasoning_flags": [1, 0, 1, 0] * 9}])
def test_a_wrong_number_of_values_per_token_affects_nothing(router: RouterHarness, odd: dict[str, Any]) -> None:
    router.submit(1, "why")
    worker, dispatch = router.running(1)
    router.report(worker, replace(thought(dispatch.dispatch_id, 0, "so ", "4", finish=STOP), **odd))
    assert (router.result(1).reasoning_content, router.result(1).text) == ("so ", "4")


def test_flags_of_missing_tokens_affect_nothing(router: RouterHarness) -> None:
    router.submit(1, "why")
    worker, dispatch = router.running(1)
    router.report(worker, replace(make_delta(dispatch.dispatch_id, 0, ""), reasoning_flags=[0]))
    router.report(worker, thought(dispatch.dispatch_id, 0, "so ", "4", finish=STOP))
    assert (router.result(1).reasoning_content, router.result(1).text) == ("so ", "4")


# tools and the cloud


def test_calls_in_reasoning_are_not_parsed(router: RouterHarness) -> None:
    call = '<tool_call>{"name": "time", "arguments": {}}</tool_call>'
    router.client(Submit(job_id=job_id(1), messages=[USER], tools=[{"name": "time"}]))
    worker, dispatch = router.running(1)
    router.report(worker, thought(dispatch.dispatch_id, 0, call))
    router.report(worker, thought(dispatch.dispatch_id, len(call), "", "No.", finish=STOP))
    result = router.result(1)
    assert (result.tool_calls, result.text, result.reasoning_content) == ([], "No.", call)


def test_low_confidence_in_reasoning_hands_nothing_off(router: RouterHarness) -> None:
    cloud = router.connect("cloud", kind="cloud", num_slots=1)
    router.subscribe(1)
    router.submit(1, "why", cloud_handoff_threshold=0.5)
    worker, dispatch = router.running(1)
    router.report(worker, thought(dispatch.dispatch_id, 0, "x" * 30, entropy=UNSURE))
    assert not router.deltas(1), "its answer may still be another's"
    router.report(worker, thought(dispatch.dispatch_id, 30, "", "a" * 10, entropy=SURE))
    assert said(router.deltas(1)) == ("x" * 30, "a" * 10)
    router.report(worker, thought(dispatch.dispatch_id, 40, "", "b", entropy=SURE, finish=STOP))
    assert router.result(1).handoff.status == "none"
    assert not cloud.dispatches


def test_a_handed_off_answer_has_the_reasoning_of_the_cloud(router: RouterHarness) -> None:
    cloud = router.connect("cloud", kind="cloud", num_slots=1)
    router.submit(1, "why", cloud_handoff_threshold=0.5)
    worker, dispatch = router.running(1)
    router.report(worker, thought(dispatch.dispatch_id, 0, "mine", entropy=SURE))
    router.report(worker, thought(dispatch.dispatch_id, 4, "", "a", entropy=UNSURE))
    _, asked = router.running(1, "cloud")
    usage = Usage(prompt_tokens=5, completion_tokens=9, reasoning_tokens=4)
    chunk = make_delta(asked.dispatch_id, 0, "42", token_ids=[0, 0], entropy=None)
    finish = Finish("stop", provider="big", usage=usage)
    router.report(cloud, replace(chunk, reasoning="theirs", finish=finish))
    result = router.result(1)
    assert (result.reasoning_content, result.text) == ("theirs", "42")
    assert result.usage == usage
    assert result.handoff.confidence == pytest.approx(1 - UNSURE)


def test_a_result_of_an_earlier_router_has_its_reasoning() -> None:
    disk = Disk()
    router = RouterHarness(disk=disk)
    router.connect("w1")
    router.client(Submit(job_id=job_id(1), prompt="why"))
    router.write_to_disk()
    worker, dispatch = router.running(1)
    last = thought(dispatch.dispatch_id, 0, "so", "4", finish=STOP)
    router.report(worker, last)
    router.write_to_disk()
    later = RouterHarness(disk=disk)
    [replay] = later.client(Resume(job_id=job_id(1), next_index=1))
    assert said(replay.deltas) == ("o", "4")
    assert replay.finished.result.reasoning_content == "so"

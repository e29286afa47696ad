"""From a Submit to token ids and resolved options, or an error that names the field."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cactus_actors.protocol.block_hashes import block_hashes
from cactus_actors.protocol.errors import CactusError, ContextExceeded, InvalidRequest, ModelNotFound
from cactus_actors.protocol.exact_integers import MAX_EXACT
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import CloudRequest
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.state.prepared_request import PreparedRequest
from tests.support.router.core_harness import job_id
from tests.support.router.letter_model import LetterModel


def make_submit(**fields: Any) -> Submit:
    return Submit(job_id=job_id(1), **fields)


def prepared_ids(prompt: Any) -> list[int]:
    return prepare(make_submit(prompt=prompt), LetterModel()).prompt_ids


def test_a_text_gets_the_start_token() -> None:
    assert prepared_ids("hi") == [1, 104, 105]


def test_token_ids_are_unchanged() -> None:
    assert prepared_ids([104, 105]) == [104, 105]


@pytest.mark.parametrize(
    ("prompt", "ids"),
    [
        (["a", 5], [1, 97, 5]),
        ([5, "a"], [5, 97]),
        (["a", 5, "b"], [1, 97, 5, 98]),
        (["", 5], [1, 5]),
    ],
)
def test_mixed_prompts_get_the_start_token_only_before_a_leading_text(prompt: Any, ids: list[int]) -> None:
    assert prepared_ids(prompt) == ids


def test_an_empty_text_becomes_the_start_token() -> None:
    assert prepared_ids("") == [1]


def test_an_empty_text_without_a_start_token_is_refused() -> None:
    model = LetterModel()
    model.tokenizer.bos_id = None
    with pytest.raises(InvalidRequest, match="must not be empty"):
        prepare(make_submit(prompt=""), model)


def test_messages_are_rendered_by_the_template() -> None:
    messages = [ChatMessage(role="system", content="a"), ChatMessage(role="user", content="b")]
    prepared = prepare(make_submit(messages=messages), LetterModel())
    assert prepared.prompt_ids == [1, ord("a"), ord("|"), ord("b")]
    assert prepared.request == CloudRequest(messages=messages)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [128]}, "prompt"),
        ({"prompt": [-1]}, "prompt"),
        ({"prompt": [5, 10**400]}, "prompt"),
        ({"prompt": "x", "messages": [ChatMessage(role="user", content="x")]}, "messages"),
        ({"messages": []}, "messages"),
        ({"prompt": "x", "tools": []}, "tools"),
        ({"prompt": "x", "options": Options(temperature=9.0)}, "temperature"),
        ({"prompt": "x", "options": Options(stop=[""])}, "stop"),
    ],
)
def test_invalid_requests_name_their_field(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        prepare(make_submit(**fields), LetterModel())
    assert caught.value.param == param


def test_the_context_is_a_limit_with_both_numbers_in_the_message() -> None:
    model = LetterModel()
    room = model.max_context - 1  # the start token
    with pytest.raises(ContextExceeded, match=r"4096 tokens .* 4096"):
        prepare(make_submit(prompt="x" * room), model)
    prepared = prepare(make_submit(prompt="x" * (room - 1), options=Options(max_tokens=2)), model)
    assert prepared.params.max_tokens == 1


def test_a_text_that_cannot_fit_is_not_tokenised() -> None:
    model = LetterModel()
    model.tokenizer.encode = None  # type: ignore[assignment,method-assign]
    for fields in (
        {"prompt": "x" * 1_000_000},
        {"prompt": [1, "x" * 1_000_000]},
        {"messages": [ChatMessage(role="user", content="x" * 1_000_000)]},
    ):
        with pytest.raises(ContextExceeded):
            prepare(make_submit(**fields), model)


def test_any_model_name_is_accepted_and_echoed() -> None:
    assert prepare(make_submit(prompt="x", model="gpt-99"), LetterModel()).model == "gpt-99"
    assert prepare(make_submit(prompt="x"), LetterModel()).model == "letters"
    with pytest.raises(ModelNotFound) as caught:
        prepare(make_submit(prompt="x", model="m" * 1_000_000), LetterModel())
    assert len(caught.value.message) < 150


def test_the_cloud_gets_text_for_every_kind_of_prompt() -> None:
    assert prepare(make_submit(prompt="hi"), LetterModel()).request == CloudRequest(prompt="hi")
    assert prepare(make_submit(prompt=[104, "i"]), LetterModel()).request == CloudRequest(prompt="hi")


def test_jobs_without_cached_prompts_leave_no_trace_in_the_prefix_index() -> None:
    submit = make_submit(prompt="x" * 40)
    assert prepare(submit, LetterModel()).block_hashes == block_hashes([1] + [120] * 40)
    private = make_submit(prompt="x" * 40, options=Options(cache_prompt=False))
    assert prepare(private, LetterModel()).block_hashes == ()


def test_jobs_of_another_salt_have_other_blocks() -> None:
    salted = prepare(make_submit(prompt="x" * 40, options=Options(cache_salt="mine")), LetterModel())
    assert salted.policy.cache_salt == "mine"
    assert salted.block_hashes == block_hashes([1] + [120] * 40, "mine")
    assert not set(salted.block_hashes) & set(block_hashes([1] + [120] * 40))


def test_errors_are_typed() -> None:
    with pytest.raises(CactusError):
        prepare(make_submit(prompt=[5, -5]), LetterModel())


def text_of(prompt: Any, **options: Any) -> str:
    ids = prepare(make_submit(prompt=prompt, options=Options(**options)), LetterModel()).prompt_ids
    return "".join(chr(token_id) for token_id in ids)


def test_infill_uses_the_tokens_of_the_model() -> None:
    assert text_of("ab", suffix="cd") == "\1\2ab\3cd\4"
    assert text_of([97, "b"], suffix="") == "\1\2ab\3\4"


def test_a_model_without_infill_tokens_refuses_infill() -> None:
    model = LetterModel()
    model.fill_tokens = None
    with pytest.raises(InvalidRequest, match="letters") as caught:
        prepare(make_submit(prompt="x", options=Options(suffix="y")), model)
    assert caught.value.param == "suffix"


def test_an_echo_is_the_text_of_the_prompt() -> None:
    def echoed(prompt: Any, **options: Any) -> str | None:
        options = {"echo": True, **options}
        return prepare(make_submit(prompt=prompt, options=Options(**options)), LetterModel()).prompt_text

    assert echoed("hi") == "hi"
    assert echoed(["h", 105]) == "hi"
    assert echoed("hi", suffix="there") == "hi"
    assert echoed("hi", echo=False) is None


def test_a_bias_has_one_number_per_token() -> None:
    def bias(given: Any) -> tuple[tuple[int, float], ...]:
        submit = make_submit(prompt="x", options=Options(logit_bias=given))
        return prepare(submit, LetterModel()).params.logit_bias

    assert bias({"5": 1.5, "3": -100}) == ((3, -100.0), (5, 1.5))
    assert bias([(5, 1.0), ("ab", False), (5, 1.0)]) == ((5, 2.0), (97, -math.inf), (98, -math.inf))
    for given in ({"128": 1.0}, [(-1, 1.0)]):
        with pytest.raises(InvalidRequest, match="0 to 127") as caught:
            bias(given)
        assert caught.value.param == "logit_bias"


def test_profile_choice_and_task_of_a_job_apply() -> None:
    def made(**fields: Any) -> PreparedRequest:
        return prepare(make_submit(prompt="x", **fields), LetterModel())

    assert made(profile="llamacpp").params.min_p == 0.05
    assert made().params.min_p == 0.0
    assert made(choice=3).choice == 3
    embedding = made(task="embed")
    assert (embedding.task, embedding.params.max_tokens) == ("embed", 0)


@pytest.mark.parametrize("choice", [-1, MAX_EXACT + 1, 1 << 70])
def test_a_choice_out_of_range_is_refused(choice: int) -> None:
    with pytest.raises(InvalidRequest) as caught:
        prepare(make_submit(prompt="x", choice=choice), LetterModel())
    assert caught.value.param == "choice"
    assert prepare(make_submit(prompt="x", choice=MAX_EXACT), LetterModel()).choice == MAX_EXACT


def test_only_the_mistral_profile_reports_the_end_of_the_context() -> None:
    for profile, ends_context in (("mistral", True), ("cactus", False)):
        submit = make_submit(prompt="x" * 4000, profile=profile)
        assert prepare(submit, LetterModel()).ends_context is ends_context


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"choice": 1}, {}),
        ({"task": "embed"}, {}),
        ({}, {"logprobs": True}),
        ({}, {"suffix": "x"}),
        ({}, {"regex": "a"}),
    ],
)
def test_jobs_that_a_cloud_cannot_answer_stay_local(fields: dict[str, Any], options: dict[str, Any]) -> None:
    kept = prepare(make_submit(prompt="x", options=Options(**options), **fields), LetterModel())
    assert kept.cloud_refusal is not None
    assert not kept.policy.allow_cloud
    free = prepare(make_submit(prompt="x"), LetterModel())
    assert (free.cloud_refusal, free.policy.allow_cloud) == (None, True)


LONG = "x" * (LetterModel.max_context * 64 + 1)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": LONG}, "prompt"),
        ({"prompt": [LONG, 5]}, "prompt"),
        ({"prompt": [""] * 5000}, "prompt"),
        ({"messages": [ChatMessage(role="user", content=LONG)]}, "messages"),
        ({"messages": [ChatMessage(role="tool", content="x", tool_call_id=LONG)]}, "messages"),
        ({"messages": [ChatMessage(role="assistant", content="x", tool_calls=[{"a": [LONG]}])]}, "messages"),
        ({"messages": [ChatMessage(role="user", content="x")], "tools": [{"a": {LONG: 1}}]}, "tools"),
    ],
)
def test_oversized_texts_are_refused_before_tokenization(fields: dict[str, Any], param: str) -> None:
    model = LetterModel()
    model.tokenizer = None  # type: ignore[assignment]
    with pytest.raises(ContextExceeded) as refused:
        prepare(make_submit(**fields), model)
    assert refused.value.param == param

"""Options resolve to parameters in one place; values out of range are refused by name."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec
import pytest

from cactus_actors.api.option_rules import given_options, structure_of, with_defaults
from cactus_actors.api.params import JobPolicy, check_options, resolve_options
from cactus_actors.api.profiles import PROFILES
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.options import Options, ProfileName
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.tools.tool_choice import ToolChoice, tool_choice

FUNCTION = {"type": "function", "function": {"name": "time"}}


def params_of(profile: ProfileName = "cactus", context_left: int = 10_000, **options: Any) -> SamplingParams:
    return resolve_options(Options(**options), context_left=context_left, profile=PROFILES[profile])[0]


def policy_of(**options: Any) -> JobPolicy:
    return resolve_options(Options(**options))[1]


@pytest.mark.parametrize(
    ("profile", "defaults"),
    [
        ("cactus", (512, 0.6, 0.95, 20, 0.0, 1.0)),
        ("mistral", (512, 0.6, 1.0, 0, 0.0, 1.0)),
        ("llamacpp", (10_000, 0.8, 0.95, 40, 0.05, 1.1)),
        ("llamacpp-strict", (10_000, 0.8, 0.95, 40, 0.05, 1.1)),
        ("cerebras", (10_000, 1.0, 1.0, 0, 0.0, 1.0)),
    ],
)
def test_absent_options_have_the_defaults_of_the_profile(profile: ProfileName, defaults: tuple[float, ...]) -> None:
    params = params_of(profile)
    assert (
        params.max_tokens,
        params.temperature,
        params.top_p,
        params.top_k,
        params.min_p,
        params.repeat_penalty,
    ) == defaults
    assert msgspec.structs.replace(
        params, max_tokens=0, temperature=0.0, top_p=1.0, top_k=0, min_p=0.0, repeat_penalty=1.0, seed=0
    ) == SamplingParams(max_tokens=0)
    assert policy_of() == JobPolicy()


@pytest.mark.parametrize(
    ("field", "value", "resolved"),
    [
        ("max_tokens", 7, 7),
        ("max_tokens", 0, 0),
        ("min_tokens", 3, 3),
        ("temperature", 0.5, 0.5),
        ("top_p", 0.5, 0.5),
        ("top_k", 5, 5),
        ("top_k", -1, 0),
        ("min_p", 0.1, 0.1),
        ("typical_p", 0.9, 0.9),
        ("seed", 2**64 - 1, 2**64 - 1),
        ("presence_penalty", -2.0, -2.0),
        ("frequency_penalty", 2.0, 2.0),
        ("repeat_penalty", 1.5, 1.5),
        ("repeat_last_n", -1, -1),
        ("mirostat", 2, 2),
        ("mirostat_tau", 3.0, 3.0),
        ("mirostat_eta", 0.5, 0.5),
        ("include_stop_sequences", True, True),
        ("ignore_eos", True, True),
        ("cache_prompt", False, False),
        ("stop", "a", ("a",)),
        ("stop", ["a", "b"], ("a", "b")),
    ],
)
def test_a_parameter_has_the_requested_value(field: str, value: Any, resolved: Any) -> None:
    assert getattr(params_of(**{field: value}), field) == resolved


@pytest.mark.parametrize(
    ("field", "value", "name", "resolved"),
    [
        ("confidence_threshold", 0.9, "confidence_threshold", 0.9),
        ("cloud_handoff_threshold", 0.8, "cloud_handoff_threshold", 0.8),
        ("max_entropy", 0.25, "cloud_handoff_threshold", 0.75),
        ("max_entropy", 0.0, "cloud_handoff_threshold", 0.0),
        ("allow_cloud", False, "allow_cloud", False),
        ("timeout_ms", 1500, "timeout_s", 1.5),
        ("priority", -3, "priority", -3),
        ("cache_salt", "mine", "cache_salt", "mine"),
        ("user", "someone", "user", "someone"),
        ("group", "capitals", "group", "capitals"),
    ],
)
def test_a_policy_has_the_requested_value(field: str, value: Any, name: str, resolved: Any) -> None:
    assert getattr(policy_of(**{field: value}), name) == resolved


def test_the_stricter_of_two_cloud_options_applies() -> None:
    assert policy_of(max_entropy=0.25, cloud_handoff_threshold=0.5).cloud_handoff_threshold == 0.75
    assert policy_of(max_entropy=0.75, cloud_handoff_threshold=0.5).cloud_handoff_threshold == 0.5


def test_max_entropy_is_a_threshold_of_the_entropy_alone() -> None:
    assert policy_of(max_entropy=0.25, cloud_handoff_threshold=0.5).compares_entropy
    assert not policy_of(max_entropy=0.75, cloud_handoff_threshold=0.5).compares_entropy
    assert not policy_of(cloud_handoff_threshold=0.5).compares_entropy


def test_max_tokens_is_clamped_to_the_context_but_not_for_mistral() -> None:
    assert params_of(max_tokens=100, context_left=7).max_tokens == 7
    assert params_of(max_tokens=-1, context_left=7).max_tokens == 7
    assert params_of("mistral", context_left=7).max_tokens == 7
    assert params_of("mistral", max_tokens=7, context_left=7).max_tokens == 7
    with pytest.raises(InvalidRequest, match="room for 7") as caught:
        params_of("mistral", max_tokens=8, context_left=7)
    assert caught.value.param == "max_tokens"


def test_min_tokens_minus_one_is_max_tokens() -> None:
    assert params_of(max_tokens=5, min_tokens=-1, context_left=100).min_tokens == 5
    assert params_of("llamacpp", min_tokens=-1, context_left=100).min_tokens == 100
    with pytest.raises(InvalidRequest) as caught:
        params_of(max_tokens=5, min_tokens=6)
    assert caught.value.param == "min_tokens"


@pytest.mark.parametrize(
    ("options", "num_logprobs"),
    [
        ({}, -1),
        ({"logprobs": False}, -1),
        ({"logprobs": True}, 0),
        ({"logprobs": True, "top_logprobs": 3}, 3),
        ({"logprobs": 0}, 0),
        ({"logprobs": 20}, 20),
        ({"logprobs": 4, "top_logprobs": 4}, 4),
    ],
)
def test_log_probabilities_can_be_requested_in_two_ways(options: dict[str, Any], num_logprobs: int) -> None:
    params = params_of(**options)
    assert params.num_logprobs == num_logprobs
    assert not params.prompt_logprobs
    assert params_of(echo=True, **options).prompt_logprobs == (num_logprobs >= 0)


def test_presence_and_frequency_penalties_count_the_prompt_by_default() -> None:
    assert params_of().penalise_prompt
    assert not resolve_options(Options(), penalise_prompt=False)[0].penalise_prompt


BAD: list[tuple[dict[str, Any], str]] = [
    ({"temperature": -0.1}, "temperature"),
    ({"temperature": math.nan}, "temperature"),
    ({"temperature": 2.1}, "temperature"),
    ({"top_p": 1.01}, "top_p"),
    ({"top_k": -2}, "top_k"),
    ({"min_p": math.inf}, "min_p"),
    ({"typical_p": 1.1}, "typical_p"),
    ({"max_tokens": -2}, "max_tokens"),
    ({"max_tokens": 10**400}, "max_tokens"),
    ({"max_completion_tokens": -2}, "max_completion_tokens"),
    ({"min_tokens": -2}, "min_tokens"),
    ({"seed": 2**64}, "seed"),
    ({"presence_penalty": 3}, "presence_penalty"),
    ({"frequency_penalty": -math.inf}, "frequency_penalty"),
    ({"repetition_penalty": 0}, "repetition_penalty"),
    ({"repeat_last_n": -2}, "repeat_last_n"),
    ({"mirostat": 3}, "mirostat"),
    ({"mirostat_tau": -1}, "mirostat_tau"),
    ({"mirostat_eta": 1.1}, "mirostat_eta"),
    ({"timeout_ms": 0}, "timeout_ms"),
    ({"priority": 101}, "priority"),
    ({"tool_rag_top_k": -1}, "tool_rag_top_k"),
    ({"stop": ""}, "stop"),
    ({"stop": ["a", ""]}, "stop"),
    ({"stop": ["x"] * 33}, "stop"),
    ({"seed": 1, "random_seed": 2}, "random_seed"),
    ({"stop": "a", "stop_sequences": "b"}, "stop_sequences"),
    ({"max_tokens": 1, "max_completion_tokens": 2}, "max_completion_tokens"),
    ({"repeat_penalty": 1, "repetition_penalty": 2}, "repetition_penalty"),
    ({"safe_prompt": True, "safe_mode": False}, "safe_mode"),
    ({"cloud_handoff_threshold": 1.5}, "cloud_handoff_threshold"),
    ({"confidence_threshold": -0.5}, "confidence_threshold"),
    ({"max_entropy": 2}, "max_entropy"),
    ({"cache_salt": "x" * 257}, "cache_salt"),
    ({"user": "x" * 257}, "user"),
    ({"group": "x" * 257}, "group"),
    ({"prompt_mode": "fast"}, "prompt_mode"),
    ({"logprobs": 21}, "logprobs"),
    ({"logprobs": -1}, "logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"top_logprobs": 0}, "top_logprobs"),
    ({"logprobs": False, "top_logprobs": 2}, "top_logprobs"),
    ({"logprobs": 2, "top_logprobs": 3}, "top_logprobs"),
    ({"logit_bias": {"1": 101.0}}, "logit_bias"),
    ({"logit_bias": {"1": math.nan}}, "logit_bias"),
    ({"logit_bias": {"one": 1.0}}, "logit_bias"),
    ({"logit_bias": {"-1": 1.0}}, "logit_bias"),
    ({"logit_bias": [(1, True)]}, "logit_bias"),
    ({"logit_bias": [("x" * 257, 1.0)]}, "logit_bias"),
    ({"logit_bias": [(1, 1.0)] * 1025}, "logit_bias"),
    ({"response_format": {"type": "xml"}}, "response_format.type"),
    ({"response_format": {}}, "response_format.type"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema.schema"),
    ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format.json_schema.schema"),
    ({"grammar": "a", "json_schema": {}}, "json_schema"),
    ({"regex": "a", "json_schema": {}}, "regex"),
    ({"regex": "a", "response_format": {"type": "json_object"}}, "response_format"),
    ({"regex": "a", "grammar_root": "value"}, "grammar_root"),
    ({"tool_choice": "sometimes"}, "tool_choice"),
    ({"tool_choice": {"type": "function"}}, "tool_choice"),
    ({"tool_choice": "none", "force_tools": True}, "force_tools"),
]


@pytest.mark.parametrize(("options", "param"), BAD)
def test_values_out_of_range_are_named(options: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        params_of(**options)
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("profile", "options", "param"),
    [
        ("cerebras", {"temperature": 1.6}, "temperature"),
        ("cerebras", {"stop": ["a"] * 5}, "stop"),
        ("llamacpp-strict", {"logprobs": 6}, "logprobs"),
        ("llamacpp-strict", {"logprobs": True, "top_logprobs": 6}, "top_logprobs"),
    ],
)
def test_some_profiles_have_narrower_ranges(profile: ProfileName, options: dict[str, Any], param: str) -> None:
    params_of("llamacpp", **options)
    with pytest.raises(InvalidRequest) as caught:
        params_of(profile, **options)
    assert caught.value.param == param


def test_aliases_set_the_same_field() -> None:
    params = params_of(
        random_seed=5, stop_sequences="x", max_completion_tokens=7, repetition_penalty=1.5, safe_mode=True
    )
    assert (params.seed, params.stop, params.max_tokens, params.repeat_penalty) == (5, ("x",), 7, 1.5)
    assert given_options(Options(safe_mode=True)) == {"safe_prompt": True}
    assert params_of(seed=5, random_seed=5).seed == 5


def test_defaults_apply_unless_a_field_is_given_by_any_name() -> None:
    defaults = Options(max_tokens=9, seed=1, top_k=3)
    filled = with_defaults(Options(max_completion_tokens=4, seed=2), defaults)
    assert filled == Options(max_completion_tokens=4, seed=2, top_k=3)


def test_a_seed_is_drawn_when_none_is_given() -> None:
    seeds = {params_of(seed=seed).seed for seed in (None, -1, None)}
    assert len(seeds) == 3
    assert all(0 <= seed < 2**64 for seed in seeds)


@pytest.mark.parametrize(
    ("options", "choice"),
    [
        ({}, ToolChoice()),
        ({"tool_choice": "auto"}, ToolChoice()),
        ({"tool_choice": "none"}, ToolChoice("none")),
        ({"tool_choice": "any"}, ToolChoice("required")),
        ({"tool_choice": "required"}, ToolChoice("required")),
        ({"force_tools": True}, ToolChoice("required")),
        ({"force_tools": False}, ToolChoice()),
        ({"tool_choice": FUNCTION}, ToolChoice("required", "time")),
        ({"tool_choice": FUNCTION, "force_tools": True}, ToolChoice("required", "time")),
    ],
)
def test_every_tool_choice_is_read(options: dict[str, Any], choice: ToolChoice) -> None:
    assert tool_choice(given_options(Options(**options))) == choice


@pytest.mark.parametrize(
    ("options", "form"),
    [
        ({}, None),
        ({"grammar": ""}, None),
        ({"response_format": {"type": "text"}}, None),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": True}}}, "response_format"),
        ({"json_schema": True}, "json_schema"),
        ({"grammar": "x", "grammar_root": "r"}, "grammar"),
        ({"grammar_root": "value"}, "grammar_root"),
        ({"regex": ""}, "regex"),
    ],
)
def test_structure_options_are_recognised(options: dict[str, Any], form: str | None) -> None:
    resolve_options(Options(**options))
    assert structure_of(given_options(Options(**options))) == form


@pytest.mark.parametrize(
    ("valid", "invalid"),
    [
        (Options(seed=5), Options(seed=-2)),
        (Options(seed=5), Options(seed="9" * 20)),
        (Options(seed=5), Options(seed=5, random_seed=6)),
        (Options(logprobs=True, top_logprobs=3), Options(logprobs=1, top_logprobs=3)),
        (Options(temperature=1.0, seed=1), Options(temperature=math.nan, seed=1)),
        (Options(user="x" * 256), Options(user="x" * 2000)),
        (Options(logit_bias={"5": 1.0}), Options(logit_bias={"five": 1.0})),
        (Options(stop=["\ud800"]), Options(stop=["\ud800", ""])),
    ],
)
def test_options_that_were_checked_before_let_no_others_pass(valid: Options, invalid: Options) -> None:
    for _ in range(2):
        check_options(valid)
        with pytest.raises(InvalidRequest) as refused:
            check_options(invalid)
        with pytest.raises(InvalidRequest, match=re.escape(refused.value.message)):
            resolve_options(invalid)


def test_options_that_were_resolved_before_have_their_own_seed_context_and_profile() -> None:
    first, policy = resolve_options(Options(seed=5, priority=3), context_left=100)
    for seed in (6, 5):
        params, same = resolve_options(Options(seed=seed, priority=3), context_left=100)
        assert (params, same) == (msgspec.structs.replace(first, seed=seed), policy)
    assert resolve_options(Options(seed=5, priority=3), context_left=7)[0].max_tokens == 7
    other, _ = resolve_options(Options(seed=5, priority=3), profile=PROFILES["mistral"])
    assert other == resolve_options(Options(seed=5, priority=3, user="x"), profile=PROFILES["mistral"])[0]
    drawn = {resolve_options(options)[0].seed for options in (Options(), Options(seed=-1)) for _ in range(2)}
    assert len(drawn) == 4


def test_the_limits_of_options_are_those_of_the_profile() -> None:
    hot = Options(temperature=1.8)
    check_options(hot)
    with pytest.raises(InvalidRequest, match="temperature"):
        check_options(hot, "cerebras")

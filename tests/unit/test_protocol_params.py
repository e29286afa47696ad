"""Options resolve to parameters in one place; what is out of range is refused by its name."""

from __future__ import annotations

import math

import pytest

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.params import resolve_options
from cactus_actors.protocol.profiles import PROFILES


def test_absent_options_take_the_profile() -> None:
    params, policy = resolve_options(Options(), context_left=10_000)
    assert (params.max_tokens, params.temperature, params.top_p, params.top_k) == (512, 0.6, 0.95, 20)
    assert policy.confidence_threshold == 0.5
    assert policy.cloud_handoff_threshold == 0.0
    assert policy.timeout_s is None


def test_max_tokens_is_clamped_to_the_context() -> None:
    assert resolve_options(Options(max_tokens=100), context_left=7)[0].max_tokens == 7
    assert resolve_options(Options(max_tokens=-1), context_left=7)[0].max_tokens == 7
    assert resolve_options(Options(max_tokens=0), context_left=7)[0].max_tokens == 0


def test_min_tokens_minus_one_is_max_tokens() -> None:
    assert resolve_options(Options(max_tokens=5, min_tokens=-1), context_left=100)[0].min_tokens == 5
    with pytest.raises(InvalidRequest) as caught:
        resolve_options(Options(max_tokens=5, min_tokens=6), context_left=100)
    assert caught.value.param == "min_tokens"


@pytest.mark.parametrize(
    ("options", "param"),
    [
        (Options(temperature=-0.1), "temperature"),
        (Options(temperature=math.nan), "temperature"),
        (Options(temperature=2.1), "temperature"),
        (Options(top_p=1.01), "top_p"),
        (Options(top_k=-2), "top_k"),
        (Options(min_p=math.inf), "min_p"),
        (Options(max_tokens=-2), "max_tokens"),
        (Options(max_tokens=10**400), "max_tokens"),
        (Options(seed=2**64), "seed"),
        (Options(presence_penalty=3), "presence_penalty"),
        (Options(repetition_penalty=0), "repeat_penalty"),
        (Options(timeout_ms=0), "timeout_ms"),
        (Options(stop=""), "stop"),
        (Options(stop=["x"] * 33), "stop"),
        (Options(seed=1, random_seed=2), "random_seed"),
        (Options(stop="a", stop_sequences="b"), "stop_sequences"),
        (Options(cloud_handoff_threshold=1.5), "cloud_handoff_threshold"),
        (Options(cache_salt="x" * 257), "cache_salt"),
    ],
)
def test_what_is_out_of_range_is_named(options: Options, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        resolve_options(options, context_left=100)
    assert caught.value.param == param


def test_aliases_spell_one_field() -> None:
    params, _ = resolve_options(Options(random_seed=5, stop_sequences="x"), context_left=100)
    assert (params.seed, params.stop) == (5, ("x",))
    assert resolve_options(Options(seed=5, random_seed=5), context_left=100)[0].seed == 5


def test_a_seed_is_drawn_when_none_is_given() -> None:
    seeds = {resolve_options(Options(seed=seed), context_left=1)[0].seed for seed in (None, -1, None)}
    assert len(seeds) == 3
    assert all(0 <= seed < 2**64 for seed in seeds)
    assert PROFILES["cactus"].max_tokens == 512

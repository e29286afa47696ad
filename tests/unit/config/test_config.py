"""Settings from a file and from flags; errors name the setting."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from cactus_actors.config import CloudBudget, HandoffSettings, ServeConfig
from cactus_actors.config_fields import config_fields
from cactus_actors.config_reading import make_config, read_config_file
from cactus_actors.protocol.errors import ConfigurationInvalid


def test_flags_override_the_file_and_none_is_not_given(tmp_path: Path) -> None:
    path = tmp_path / "cactus.toml"
    path.write_text('workers = 3\nmodel = "a.gguf"\nstate_dir = "/tmp/x"\n[handoff]\nmax_concurrent = 2\n')
    config = make_config(read_config_file(path), {"workers": 5, "model": None})
    assert (config.workers, config.model, config.state_dir) == (5, "a.gguf", Path("/tmp/x"))
    assert config.handoff.max_concurrent == 2


def test_missing_settings_have_their_default() -> None:
    assert make_config({}) == ServeConfig()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("modle = 1", "unknown field 'modle'; did you mean 'model'\\?"),
        ("[handof]\nmax_share = 1", "did you mean 'handoff'"),
        ("[handoff]\nmax_shares = 1", "unknown field 'handoff.max_shares'; did you mean 'max_share'"),
        ("[[handoff.budgets]]\nmax_cots = 1", "did you mean 'max_cost'"),
        ('[[handoff.budgets]]\nperiod = "day"', r"handoff.budgets\[0\]: give max_requests, max_tokens or max_cost"),
        ("max_model_bytes = 9223372036854775808", "max_model_bytes is a number out of range"),
        ('[[models]]\nname = "a"\nthreads = 9223372036854775808', r"models\[0\].threads is a number out of range"),
        ("workers = 'two'", r"toml: workers must be"),
        ("weights = 'int3'", "weights: 'int3' is not one of 'bfloat16', 'float32', 'int4', 'int8'"),
        ("workers = -1", r"toml: workers must be"),
        ("workers = 1000", r"toml: workers must be"),
        ("max_sequences = 0", r"toml: max_sequences must be"),
        ("token_budget = 0", r"toml: token_budget must be"),
        ("cache_tokens = -5", r"toml: cache_tokens must be"),
        ("speculation = -1", r"toml: speculation must be"),
        ("speculation = 'mtp:7'", r"'mtp:7' is not one of 'mtp', 'mtp:1', .*'mtp:6', nor a number of at least 0 "),
        ("workers = " + "[" * 100_000, "its lists and tables are nested too deeply"),
        ("workers =", "cactus.toml"),
        ("[handoff]\nurl = 'x'", "url|base_url"),
    ],
)
def test_an_error_names_the_invalid_file(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "cactus.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationInvalid, match=words) as caught:
        read_config_file(path)
    assert str(path) in caught.value.message


@pytest.mark.parametrize(
    ("name", "allowed", "refused", "words"),
    [
        ("max_concurrent", (1, 1000), (0, -1, 1001), "at least 1 and at most 1000"),
        ("max_requests", (0, 10**9), (-1,), "at least 0"),
        ("connect_timeout_s", (0.1, 3600), (0, -1.0, 3601, math.inf, math.nan), "above 0 and at most 3600"),
        ("read_timeout_s", (0.1, 3600), (0, -1.0, 3601, math.inf, math.nan), "above 0 and at most 3600"),
        ("total_timeout_s", (0.1, 86400), (0, -1.0, 86401, math.inf, math.nan), "above 0 and at most 86400"),
        ("max_retries", (0, 100), (-1, 101), "at least 0 and at most 100"),
        ("breaker_failures", (1, 1000), (0, 1001), "at least 1 and at most 1000"),
        ("breaker_open_s", (0.1, 86400), (0, -1.0, 86401, math.inf, math.nan), "above 0 and at most 86400"),
        ("retry_backoff_s", (0, 3600), (-0.1, 3601, math.inf, math.nan), "at least 0 and at most 3600"),
        ("max_share", (0, 1), (-0.1, 1.1, math.nan), "at least 0 and at most 1"),
        ("max_wait_s", (0.1, 86400), (0, -1.0, 86401, math.inf, math.nan), "above 0 and at most 86400"),
        ("prompt_price", (0, 1e9), (-1.0, 1e10, math.inf, math.nan), "at least 0 and at most 1000000000"),
        ("completion_price", (0, 1e9), (-1.0, 1e10, math.inf, math.nan), "at least 0 and at most 1000000000"),
    ],
)
def test_numbers_of_the_handoff_have_a_range(
    name: str, allowed: tuple[float, ...], refused: tuple[float, ...], words: str
) -> None:
    for value in allowed:
        assert getattr(make_config({"handoff": {name: value}}).handoff, name) == value
    for value in refused:
        with pytest.raises(ConfigurationInvalid) as caught:
            make_config({"handoff": {name: value}})
        assert caught.value.message == f"configuration: handoff.{name} must be {words}"
        assert caught.value.param == f"handoff.{name}"


def test_every_number_of_the_handoff_has_a_lower_bound() -> None:
    for settings in (HandoffSettings, CloudBudget):
        for field in config_fields(settings).values():
            if field.kind in ("integer", "number"):
                assert field.minimum is not None or field.above is not None, field.name


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match=r"absent\.toml: No such file"):
        read_config_file(tmp_path / "absent.toml")


def test_a_file_without_an_end_is_refused() -> None:
    with pytest.raises(ConfigurationInvalid, match=r"/dev/zero: more than 1048576 bytes are no configuration"):
        read_config_file(Path("/dev/zero"))

"""A number of workers, or their least and most."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.config_reading import make_config
from cactus_actors.config_scaling import WorkerRange, worker_range
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.service.local_cores import within_cores
from cactus_actors.service.model_configs import model_configs


@pytest.mark.parametrize(
    ("given", "low", "high", "at_start"), [(3, 3, 3, 3), (0, 0, 0, 0), ("1:16", 1, 16, 1), ("0:2", 0, 2, 1)]
)
def test_a_setting_is_a_number_or_a_range(given: int | str, low: int, high: int, at_start: int) -> None:
    [named] = model_configs(make_config({"workers": given}))
    size = worker_range(named.config.workers)
    assert (size, size.num_at_start, size.is_fixed) == (WorkerRange(low, high), at_start, low == high)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("many", "workers must be a number or LEAST:MOST, such as 1:16, not 'many'"),
        ("1:", "workers must be a number or"),
        (":3", "workers must be a number or"),
        ("1:2:3", "workers must be a number or"),
        ("-1", "workers must be a number or"),
        ("4:2", "workers 4:2: the least is at most the most, and that at most 256"),
        ("1:257", "at most 256"),
        ("0:0", "would never start one"),
    ],
)
def test_anything_else_is_refused(given: str, words: str) -> None:
    for settings in ({"workers": given}, {"models": [{"name": "a", "workers": given}]}):
        with pytest.raises(ConfigurationInvalid) as caught:
            make_config(settings)
        assert (words in caught.value.message, caught.value.param) == (True, "workers")


@pytest.mark.parametrize("settings", [{"workers": 257}, {"workers": -1}, {"scaling": {"queue_s": 0}}, {"scaling": 3}])
def test_numbers_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationInvalid):
        make_config(settings)


@pytest.mark.parametrize(
    ("given", "threads", "fitting"), [("1:16", 2, "1:4"), ("6:16", 2, "6:6"), ("0:16", 9, "0:1"), ("1:3", 2, "1:3")]
)
def test_workers_on_one_machine_have_a_core_for_each_thread(given: str, threads: int, fitting: str) -> None:
    said: list[str] = []
    [named] = within_cores(model_configs(make_config({"workers": given, "threads": threads})), 8, said.append)
    assert worker_range(named.config.workers) == worker_range(fitting)
    assert len(said) == (given != fitting)


def test_a_number_is_kept_whatever_the_cores() -> None:
    [named] = within_cores(model_configs(make_config({"workers": 16})), 1, pytest.fail)
    assert named.config.workers == 16

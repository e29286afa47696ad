"""Extras of the package that are missing are named, before anything else happens."""

from __future__ import annotations

import sys

import pytest

from cactus_actors.config import ServeConfig
from cactus_actors.data import require_ray_data
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.service.service import Service


@pytest.fixture(autouse=True)
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)


@pytest.mark.parametrize(
    ("config", "option"),
    [(ServeConfig(placement="ray"), "--placement ray"), (ServeConfig(ray_address="auto"), "--ray-address")],
)
def test_a_service_on_ray_names_the_extra_that_is_missing(config: ServeConfig, option: str) -> None:
    with pytest.raises(ConfigurationInvalid) as refused:
        Service(config)
    assert refused.value.message == f"{option} needs Ray, which is not installed: pip install 'cactus-actors[ray]'"


def test_a_service_of_this_machine_needs_no_ray() -> None:
    Service(ServeConfig())


def test_tables_on_ray_name_the_extras_that_are_missing() -> None:
    with pytest.raises(ConfigurationInvalid, match=r"needs Ray and pandas: .*cactus-actors\[data,ray\]"):
        require_ray_data()

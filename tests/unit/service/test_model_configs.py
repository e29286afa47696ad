"""The configurations of a service's models, from `[[models]]` and the settings at the top of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cactus_actors.config_reading import make_config, read_config_file
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.service.model_configs import model_configs
from cactus_actors.service.model_source import find_service_model
from cactus_actors.service.service import Service

FILE = """
workers = 2
threads = 3
[[models]]
name = "cactus-sprout"
aliases = ["small"]
[[models]]
name = "large"
path = "/models/large.gguf"
workers = 1
weights = "int4"
lora = ["poems=/poems"]
probe_file = "/probe.json"
[handoff]
max_share = 0.5
"""


def test_an_entry_has_its_own_settings_and_those_of_the_top_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cactus.toml"
    path.write_text(FILE)
    config = make_config(read_config_file(path), {"cache_tokens": 4096})
    small, large = model_configs(config)
    assert (small.name, small.aliases, large.name, large.aliases) == ("cactus-sprout", ("small",), "large", ())
    assert (small.config.model, small.config.workers, small.config.threads) == ("cactus-sprout", 2, 3)
    assert (large.config.model, large.config.workers, large.config.threads) == ("/models/large.gguf", 1, 3)
    assert (small.config.weights, large.config.weights) == ("int8", "int4")
    assert (small.config.lora, large.config.lora) == ([], ["poems=/poems"])
    assert (small.config.cache_tokens, large.config.cache_tokens) == (4096, 4096)
    assert (small.config.handoff.probe_file, large.config.handoff.probe_file) == (None, "/probe.json")
    assert large.config.handoff.max_share == 0.5


def test_without_entries_the_configuration_is_that_of_the_only_model() -> None:
    config = make_config({"model": "/models/one", "alias": "one"})
    assert model_configs(config) == [("", (), config)]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"models": [{"name": "a"}], "model": "b"}, "model is a setting of each of [[models]]"),
        ({"models": [{"name": "a"}], "model": "cactus-sprout"}, "model is a setting of each of [[models]]"),
        ({"models": [{"name": "a"}], "alias": "b"}, "alias is a setting of each of [[models]]"),
        ({"models": [{"name": "a"}, {"name": "a"}]}, "two of them have the name 'a'"),
        ({"models": [{"name": "a"}, {"name": "b", "aliases": ["a"]}]}, "two of them have the name 'a'"),
        ({"models": [{"name": "a:b"}]}, "'a:b' is no name of a model"),
        (
            {"models": [{"name": "a", "lora": ["c=/c"]}, {"name": "b", "aliases": ["c"]}]},
            "the adapter 'c' of a has the name of another model",
        ),
        ({"models": [{"name": "a"}], "handoff": {"probe_file": "x"}}, "probe_file is a setting of each"),
    ],
)
def test_contradictions_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationInvalid) as caught:
        model_configs(make_config(settings))
    assert words in caught.value.message


@pytest.mark.parametrize("entry", [{}, {"name": "a", "port": 1}, {"name": "a", "workers": -1}, {"name": 3}])
def test_an_entry_is_read_strictly(entry: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationInvalid, match="models"):
        make_config({"models": [entry]})


TWO = [{"name": "a"}, {"name": "b"}]


@pytest.mark.parametrize(
    ("tiers", "words"),
    [
        ([{"model": "a", "threshold": 0.5}, {"model": "c"}], "no model 'c'; there are a, b, cloud at the end"),
        ([{"model": "cloud", "threshold": 0.5}, {"model": "a"}], "no model 'cloud'"),
        ([{"model": "a"}, {"model": "b"}], "a needs a threshold above 0"),
        ([{"model": "a", "threshold": 0.5}, {"model": "b", "threshold": 0.5}], "b needs no threshold"),
        ([{"model": "a", "threshold": 0.5}, {"model": "a"}], "a model is in them twice"),
        ([{"model": "a"}], "two tiers at least"),
    ],
)
def test_tiers_of_a_cascade_are_checked(tiers: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(ConfigurationInvalid) as caught:
        model_configs(make_config({"models": TWO, "cascade": {"tiers": tiers}}))
    assert words in caught.value.message


def test_a_cascade_has_a_name_of_its_own_and_may_end_in_the_cloud() -> None:
    tiers = [{"model": "a", "threshold": 0.5}, {"model": "cloud"}]
    config = make_config({"models": TWO, "cascade": {"tiers": tiers}})
    assert len(model_configs(config)) == 2
    assert (config.cascade.models, config.cascade.ends_in_cloud) == (["a"], True)
    assert (config.cascade.audited_models, config.cascade.last_model) == (["a"], "")
    local = make_config({"models": TWO, "cascade": {"tiers": [{"model": "a", "threshold": 0.5}, {"model": "b"}]}})
    assert (local.cascade.audited_models, local.cascade.last_model) == (["a"], "b")
    with pytest.raises(ConfigurationInvalid, match=r"cascade\.name: '' is no name"):
        model_configs(make_config({"models": TWO, "cascade": {"name": "", "tiers": tiers}}))
    with pytest.raises(ConfigurationInvalid, match="of which there are none"):
        model_configs(make_config({"cascade": {"tiers": tiers}}))
    for name, first in (("b", TWO[0]), ("cloud", TWO[0]), ("poems", {"name": "a", "lora": ["poems=/a"]})):
        with pytest.raises(ConfigurationInvalid, match=rf"cascade\.name: '{name}' is a name of a model, an adapter or"):
            model_configs(make_config({"models": [first, TWO[1]], "cascade": {"name": name, "tiers": tiers}}))
    with pytest.raises(ConfigurationInvalid, match="cloud is the last tier; give the model another name"):
        model_configs(make_config({"models": [TWO[0], {"name": "cloud"}], "cascade": {"tiers": tiers}}))


@pytest.mark.parametrize("settings", [{"alias": "poems"}, {"models": [{"name": "poems", "lora": ["poems=/a"]}]}])
def test_no_adapter_has_a_name_of_its_model(settings: dict[str, Any]) -> None:
    lora = {} if "models" in settings else {"lora": ["poems=/a"]}
    [named] = model_configs(make_config(settings | lora))
    with pytest.raises(ConfigurationInvalid, match="the adapter 'poems' has the name of its model") as caught:
        find_service_model(named, lambda _: None)
    assert caught.value.param == "lora"


def test_the_names_of_all_models_are_one_word_of_the_ready_line() -> None:
    assert Service(make_config({"models": TWO})).model_name == "a,b"

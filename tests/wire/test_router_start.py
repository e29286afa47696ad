"""Settings with which a router refuses to start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cactus_actors.config import RouterSettings
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.actor import RouterActor
from tests.support.router.letter_model import LetterModel
from tests.support.router.running_router import LOOPBACK, Service, serving


def test_a_busy_port_is_named(service: Service) -> None:
    busy = RouterActor(RouterSettings(**{**LOOPBACK, "jobs_endpoint": service.endpoints.jobs}), LetterModel())
    with pytest.raises(ConfigurationInvalid, match=service.endpoints.jobs):
        busy.start()


@pytest.mark.parametrize("endpoint", ["nonsense", "tcp://nowhere.invalid:1", "tcp://127.0.0.1:99999"])
def test_an_invalid_endpoint_is_named(endpoint: str) -> None:
    actor = RouterActor(RouterSettings(**{**LOOPBACK, "stream_endpoint": endpoint}), LetterModel())
    with pytest.raises(ConfigurationInvalid, match=endpoint):
        actor.start()


def test_a_missing_model_is_named() -> None:
    actor = RouterActor(RouterSettings(**LOOPBACK, model="/no/such/model"))
    with pytest.raises(ConfigurationInvalid, match="/no/such/model"):
        actor.start()


def test_a_signal_that_the_model_lacks_is_named(tmp_path: Path) -> None:
    probe = {
        "bias": 0,
        "entropy_mean": 0,
        "entropy_max": 0,
        "surprise_mean": 0,
        "surprise_max": 0,
        "length": 0,
    }
    (tmp_path / "probe.json").write_text(json.dumps(probe))
    with pytest.raises(ConfigurationInvalid, match="no confidence probe"):
        RouterActor(RouterSettings(**LOOPBACK, confidence_signal="probe"), LetterModel()).start()
    with serving(confidence_signal="probe", probe_file=str(tmp_path / "probe.json")) as service:
        assert service.status().model == "letters"

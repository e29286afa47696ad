"""A cloud is configured by a key, or by a setting of the handoff actor."""

from __future__ import annotations

from pathlib import Path

import pytest

from cactus_actors.config import CloudBudget, HandoffSettings
from cactus_actors.handoff.cloud_key import (
    CloudKey,
    credentials_path,
    forget_cloud_key,
    is_cloud_configured,
    store_cloud_key,
)


@pytest.mark.parametrize(
    "settings",
    [
        HandoffSettings(base_url="http://127.0.0.1:1/v1"),
        HandoffSettings(model="another"),
        HandoffSettings(require_key=False),
        HandoffSettings(budgets=[CloudBudget(max_requests=3)]),
    ],
)
def test_a_setting_of_the_handoff_actor_configures_a_cloud(settings: HandoffSettings, tmp_path: Path) -> None:
    assert is_cloud_configured(settings, {"CACTUS_HOME": str(tmp_path)})


def test_settings_of_the_router_alone_configure_no_cloud(tmp_path: Path) -> None:
    settings = HandoffSettings(confidence_signal="answer_prob", max_share=0.5, max_wait_s=1.0)
    assert not is_cloud_configured(HandoffSettings(), {"CACTUS_HOME": str(tmp_path)})
    assert not is_cloud_configured(settings, {"CACTUS_HOME": str(tmp_path)})


def test_a_key_in_any_place_configures_a_cloud(tmp_path: Path) -> None:
    environment = {"CACTUS_HOME": str(tmp_path)}
    assert is_cloud_configured(HandoffSettings(), {**environment, "CACTUS_CLOUD_KEY": "a-key"})
    store_cloud_key(CloudKey("a-key"), environment)
    assert is_cloud_configured(HandoffSettings(), environment)
    credentials_path(environment).write_text("damaged: the actor says so")
    assert is_cloud_configured(HandoffSettings(), environment)
    assert forget_cloud_key(environment)
    assert not is_cloud_configured(HandoffSettings(), environment)

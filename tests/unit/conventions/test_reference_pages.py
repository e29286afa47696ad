"""The generated reference pages agree with the code."""

from __future__ import annotations

import msgspec
import pytest

from cactus_actors.config import CloudBudget, GatewaySettings, HandoffSettings, ServeConfig
from cactus_actors.config_fields import config_fields
from cactus_actors.config_models import CascadeSettings, CascadeTier, ModelEntry
from docs.generate import PAGES, REFERENCE

FILLED_IN = {
    HandoffSettings: {"worker_id", "key_file", "spending_file", "audit_dir", "audit_tiers", "audit_model"},
    GatewaySettings: {
        "model", "models", "listen", "ollama", "page", "alias", "key_digests", "state_dir", "tls_cert", "tls_key",
        "behind_proxy", "key_file", "operator_digests",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == PAGES[name](), "run make docs"


@pytest.mark.parametrize(
    "settings", [ServeConfig, ModelEntry, CascadeSettings, CascadeTier, HandoffSettings, GatewaySettings, CloudBudget]
)
def test_every_setting_is_described_unless_the_service_fills_it_in(settings: type[msgspec.Struct]) -> None:
    fields = config_fields(settings)
    assert {name for name, field in fields.items() if not field.text} == FILLED_IN.get(settings, set())

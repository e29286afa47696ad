"""The alert rules: every query refers to metrics and labels that /metrics has."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from docs.generate.metrics import service_families
from tests.support.http.exposition import Families
from tests.support.http.promql import Scraped, check, parsed, selectors_in
from tests.support.paths import ROOT

PROMETHEUS = ROOT / "deploy" / "prometheus"
[GROUP] = yaml.safe_load((PROMETHEUS / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
RULES: list[dict[str, Any]] = GROUP["rules"]


@pytest.fixture(scope="module")
def scraped(families: Families) -> Scraped:
    """Families of a running service, and those that it has after audits or with a budget."""
    sampled = {name: family for name, family in families.items() if family.samples}
    return Scraped({family.name: family for family in service_families()} | sampled)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_refers_to_existing_metrics(rule: dict[str, Any], scraped: Scraped) -> None:
    expression = parsed(rule["expr"])
    check(expression, scraped)
    assert any(selectors_in(expression))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_has_the_fields_of_prometheus_and_says_what_to_do(rule: dict[str, Any]) -> None:
    assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert set(rule["annotations"]) == {"summary", "description"}


def test_names_of_rules_are_unique() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)


def test_prometheus_reads_the_rules() -> None:
    configuration = yaml.safe_load((PROMETHEUS / "prometheus.yaml").read_text(encoding="utf-8"))
    assert [path for name in configuration["rule_files"] for path in PROMETHEUS.glob(name)] == [
        PROMETHEUS / "alerts.yaml"
    ]

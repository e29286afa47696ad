"""The Grafana dashboard: every query refers to metrics and labels that /metrics has."""

from __future__ import annotations

import json
import re
from itertools import combinations
from typing import Any

import pytest

from tests.support.http.exposition import Families
from tests.support.http.promql import OF_PROMETHEUS, Scraped, check, labels_by, parsed, selectors_in
from tests.support.paths import ROOT

DASHBOARD = ROOT / "deploy" / "grafana" / "cactus.json"


def panels() -> list[dict[str, Any]]:
    return json.loads(DASHBOARD.read_text())["panels"]


def queries() -> list[Any]:
    dashboard = json.loads(DASHBOARD.read_text())
    return [
        *(
            pytest.param(target["expr"], target["legendFormat"], id=f"{panel['title']} {target['refId']}")
            for panel in dashboard["panels"]
            for target in panel.get("targets", [])
        ),
        *(
            pytest.param(annotation["expr"], "", id=annotation["name"])
            for annotation in dashboard["annotations"]["list"]
        ),
    ]


@pytest.fixture(scope="module")
def scraped(families: Families) -> Scraped:
    return Scraped(families)


@pytest.mark.parametrize(("query", "legend"), queries())
def test_a_query_refers_to_existing_metrics(query: str, legend: str, scraped: Scraped) -> None:
    expression = parsed(query)
    check(expression, scraped)
    assert any(selectors_in(expression))
    assert set(re.findall(r"{{(\w+)}}", legend)) <= labels_by(expression)


@pytest.mark.parametrize(
    "wrong",
    [
        "cactus_no_such_metric",
        "sum(cactus_jobs_finished_total)",
        "rate(cactus_live_jobs[5m])",
        "sum by (job_id) (cactus_live_jobs)",
        "sum by (le) (cactus_live_jobs)",
        'sum(cactus_workers{kind="remote"})',
        'sum(cactus_workers{colour="green"})',
        "histogram_quantile(0.9, sum(rate(cactus_e2e_request_latency_seconds_bucket[5m])))",
        "histogram_quantile(0.9, sum by (le) (rate(cactus_e2e_request_latency_seconds_sum[5m])))",
    ],
)
def test_wrong_queries_fail_the_check(wrong: str, scraped: Scraped) -> None:
    with pytest.raises(AssertionError):
        check(parsed(wrong), scraped)


def test_variables_refer_to_existing_metrics(scraped: Scraped) -> None:
    for variable in json.loads(DASHBOARD.read_text())["templating"]["list"]:
        if variable["type"] == "query":
            asked = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"])
            assert asked is not None
            assert asked[1] in scraped.kinds
            assert asked[2] in OF_PROMETHEUS


def test_panels_have_unique_names_and_do_not_overlap() -> None:
    assert len({panel["id"] for panel in panels()}) == len(panels())
    assert all(panel["title"] and (panel["type"] == "row" or panel["targets"]) for panel in panels())
    for one, other in combinations([panel["gridPos"] for panel in panels()], 2):
        is_beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert is_beside or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]

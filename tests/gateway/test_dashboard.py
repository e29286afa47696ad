"""The Grafana dashboard: every query refers to metrics and labels that /metrics has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import promql_parser as promql
import pytest

from tests.support.http.exposition import Families
from tests.support.paths import ROOT

DASHBOARD = ROOT / "deploy" / "grafana" / "cactus.json"
OF_PROMETHEUS = {"job", "instance"}
OF_COUNTERS = {"rate", "increase"}
OF_GAUGES = {"changes"}


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


class Scraped:
    """Samples by name: their kind and the values of their labels."""

    def __init__(self, families: Families) -> None:
        self.kinds: dict[str, str] = {}
        self.labels: dict[str, dict[str, set[str]]] = {}
        for family in families.values():
            for sample in family.samples:
                self.kinds[sample.name] = "gauge" if family.type == "gauge" else "counter"
                known = self.labels.setdefault(sample.name, {})
                for label, value in sample.labels.items():
                    known.setdefault(label, set()).add(value)


@pytest.fixture(scope="module")
def scraped(families: Families) -> Scraped:
    return Scraped(families)


def parsed(query: str) -> Any:
    return promql.parse(query.replace("$__rate_interval", "5m").replace("$instance", ".*"))


def selectors_in(expression: Any) -> Iterator[Any]:
    match expression:
        case promql.VectorSelector():
            yield expression
        case promql.MatrixSelector():
            yield expression.vector_selector
        case promql.Call():
            for argument in expression.args:
                yield from selectors_in(argument)
        case promql.AggregateExpr() | promql.ParenExpr():
            yield from selectors_in(expression.expr)
        case promql.BinaryExpr():
            yield from selectors_in(expression.lhs)
            yield from selectors_in(expression.rhs)
        case promql.NumberLiteral():
            pass
        case _:
            raise AssertionError(f"a query of a kind that is not checked: {expression}")


def labels_by(expression: Any) -> set[str]:
    """The labels that an expression groups its values by."""
    match expression:
        case promql.AggregateExpr():
            return set(expression.modifier.labels) if expression.modifier else set()
        case promql.BinaryExpr():
            return labels_by(expression.lhs)
        case promql.Call():
            return labels_by(expression.args[-1])
    return set()


def check(expression: Any, scraped: Scraped, function: str | None = None) -> None:
    """Fail if a part of a query refers to a missing metric or label, or uses it wrongly."""
    match expression:
        case promql.VectorSelector():
            check_selector(expression, scraped)
            assert scraped.kinds[expression.name] == "gauge", "a counter's height means nothing"
        case promql.MatrixSelector():
            selector = expression.vector_selector
            check_selector(selector, scraped)
            fitting = OF_GAUGES if scraped.kinds[selector.name] == "gauge" else OF_COUNTERS
            assert function in fitting
        case promql.AggregateExpr():
            check(expression.expr, scraped)
            for selector in selectors_in(expression.expr):
                assert labels_by(expression) <= set(scraped.labels[selector.name])
                assert ("le" in labels_by(expression)) == selector.name.endswith("_bucket")
        case promql.Call():
            if expression.func.name == "histogram_quantile":
                assert "le" in labels_by(expression.args[1])
            for argument in expression.args:
                check(argument, scraped, expression.func.name)
        case promql.BinaryExpr():
            check(expression.lhs, scraped)
            check(expression.rhs, scraped)
        case promql.ParenExpr():
            check(expression.expr, scraped)
        case promql.NumberLiteral():
            pass
        case _:
            raise AssertionError(f"a query of a kind that is not checked: {expression}")


def check_selector(selector: Any, scraped: Scraped) -> None:
    assert selector.name in scraped.kinds
    known = scraped.labels[selector.name]
    for matcher in selector.matchers.matchers:
        assert matcher.name in known or matcher.name in OF_PROMETHEUS
        if matcher.op in (promql.MatchOp.Equal, promql.MatchOp.NotEqual):
            assert matcher.value in known[matcher.name]


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

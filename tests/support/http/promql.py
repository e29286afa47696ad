"""PromQL: whether a query refers to metrics and labels that /metrics has, and uses them as their kind allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promql_parser as promql

from tests.support.http.exposition import Families

OF_PROMETHEUS = {"job", "instance"}
OF_COUNTERS = {"rate", "increase"}
OF_GAUGES = {"changes"}


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
            assert scraped.kinds[str(expression.name)] == "gauge", "a counter's height means nothing"
        case promql.MatrixSelector():
            selector = expression.vector_selector
            check_selector(selector, scraped)
            fitting = OF_GAUGES if scraped.kinds[str(selector.name)] == "gauge" else OF_COUNTERS
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

"""docs/reference/metrics.md: every metric family of /metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import inspect
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from cactus_actors.gateway.metrics.gateway_metrics import Metrics
from cactus_actors.gateway.metrics.service_metrics import families_of
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.totals import Distribution
from docs.generate.layout import item, page

INTRODUCTION = """\
`GET /metrics` answers in Prometheus' text format; [http.md](http.md#metrics) says who may read it. Names and labels
are those of vLLM where it has the same metric, with the prefix `cactus_`. A counter's sample ends with `_total`; a
histogram has `_bucket`, `_sum` and `_count`."""


def metrics_page() -> str:
    """The text of the page."""
    return page(
        "Metrics",
        INTRODUCTION,
        "## The service",
        "The gateway asks the router for these numbers at each request; while the router does not answer, only\n"
        "`cactus_up` is there.",
        _entries(families_of(_sample(inspect.type_info(Status)))),
        "## The gateway",
        "These are of the gateway's own process. The collector of processes adds `process_*`.",
        _entries(_of_gateway()),
    )


def _of_gateway() -> Iterable[Metric]:
    metrics = Metrics()
    metrics.note_answer("/", 200, 0.1)
    metrics.note_ignored(["verbosity"])
    families = text_string_to_metric_families(metrics.exposition(None).decode())
    return [family for family in families if family.name.startswith("cactus_http_")]


def _entries(families: Iterable[Metric]) -> str:
    return "\n".join(_entry(family) for family in families)


def _entry(family: Metric) -> str:
    labels = sorted({label for sample in family.samples for label in sample.labels} - {"le"})
    suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
    kind = "gauge" if family.type == "info" else family.type
    told = f"{kind}; {', '.join(f'`{label}`' for label in labels)}" if labels else kind
    return item(f"`{family.name}{suffix}`", f"{family.documentation} ({told})")


def _sample(kind: inspect.Type) -> Any:
    """A value of a type with something in every field, so that each family has a sample."""
    match kind:
        case inspect.Metadata():
            return _sample(kind.type)
        case inspect.UnionType():
            return _sample(next(one for one in kind.types if not isinstance(one, inspect.NoneType)))
        case inspect.StructType(cls=cls) if cls is Distribution:
            return Distribution(bounds=(1.0,), counts=(1, 0), sum=1.0)
        case inspect.StructType():
            # a tenant's own spending is not shown
            given = {field.name: _sample(field.type) for field in kind.fields if field.name != "tenant"}
            return kind.cls(**given)
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.ListType():
            return [_sample(kind.item_type)]
        case inspect.VarTupleType():
            return (_sample(kind.item_type),)
        case inspect.DictType():
            return {_sample(kind.key_type): _sample(kind.value_type)}
    return {inspect.BoolType: True, inspect.StrType: "x"}.get(type(kind), 1)

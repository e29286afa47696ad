"""docs/reference/metrics.md: every metric family of /metrics."""

from __future__ import annotations

import re
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
`GET /metrics` answers in Prometheus' text format 0.0.4. It requires an API key where keys are configured, unless
`public_metrics` is set. [`deploy/grafana/cactus.json`](../../deploy/grafana/cactus.json) is a dashboard. Names and
labels are those of vLLM where it has the same metric, with the prefix `cactus_`. A counter's sample ends with `_total`;
a histogram has `_bucket`, `_sum` and `_count`. No label names a user, a job or a prompt. The
[glossary](glossary.md) explains the words.

At each scrape the gateway asks the router for the numbers of the service. If the router does not answer within 2 s,
`cactus_up` is 0 and only the gateway's own metrics are there. Totals start from 0 with each new router
(`cactus_router_start_time_seconds`), totals of a worker when it connects. Durations are measured by the router's
monotonic clock."""
GROUPS = {
    "Service": (
        r"cactus(_up|_info|_uptime_seconds|_router_.*|_draining|_storage_.*|_access_.*|_edge_.*|_zmq_.*)?",
        "",
    ),
    "Jobs": (
        r"cactus_(jobs.*|num_requests_.*|requests_.*|job_.*|live_.*|arrivals|waiting_.*|oldest_.*|ended_.*|result_.*|picture_.*"
        r"|request_success)",
        """\
`jobs_accepted_total` = queued + running + finished + failed + cancelled. The gauges of waiting and live jobs are 0 on
an idle service. Outcomes of `job_attempts_total`: `completed`, `failed`, `lost` with the worker, `returned` by a worker
that drained, `cut` off from a worker that is alive, `broken` because tokens were missing, `yielded` to a job that a
user waits for, `aborted`.""",
    ),
    "Latency and tokens": (
        r"cactus_(time_.*|inter_.*|e2e_.*|request_.*|prompt_tokens|generation_tokens)",
        """\
Histograms count ended jobs; an embedding is in those of the prompt only. `inter_token_latency_seconds` counts every
token; tokens that came together share the time since the previous one.""",
    ),
    "Workers": (
        r"cactus_(worker.*|model_workers_.*|model_state|prefix_.*|num_preemptions|spec_.*|kv_.*)",
        """\
Gauges are of connected workers. Reasons of `worker_losses_total`: `silent` for too long, `died`, `unreachable` over its
connection, `reconnected` without its dispatches.""",
    ),
    "Streams": (r"cactus_(subscribed_.*|stream_.*|late_.*)", ""),
    "Cloud": (
        r"cactus_(handoff.*|model_handed_on|cloud_.*|audit.*)",
        """\
`cloud_spent_*` is what all tenants spent in each period that has a budget, or since the handoff actor started
([handoff](../guide/handoff.md#budgets)). `audit*` are of [answers that stay](../guide/handoff.md#audits), with the
model of a cascade as their `tier`, which is empty for jobs outside of one; they are
kept across restarts.""",
    ),
}
"""The groups of the service's families: a pattern of their names, of which the first that matches counts, and notes."""


def service_families() -> Iterable[Metric]:
    """Every family that the status of a service can have, with one sample of each."""
    return families_of(_sample(inspect.type_info(Status)))


def metrics_page() -> str:
    """The text of the page."""
    families = list(service_families())
    parts = []
    for title, (pattern, notes) in GROUPS.items():
        group = [family for family in families if re.fullmatch(pattern, family.name)]
        families = [family for family in families if family not in group]
        parts += [f"## {title}", *([notes] if notes else []), _entries(group)]
    assert not families, families
    gateway = "These count in the gateway's own process, whose `process_*` metrics are there too."
    return page("Metrics", INTRODUCTION, *parts, "## Gateway", gateway, _entries(_of_gateway()))


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
    facts = f"{kind}; {', '.join(f'`{label}`' for label in labels)}" if labels else kind
    return item(f"`{family.name}{suffix}`", f"{family.documentation} ({facts})")


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

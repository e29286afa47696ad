"""Metric families under the project's prefix, from plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import TypeVar

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.utils import floatToGoString

from cactus_actors.protocol.totals import Distribution

PREFIX = "cactus_"

Name = TypeVar("Name", bound=str)
Samples = Iterable[tuple[tuple[str, ...], float]]
"""The values of the labels, and a value."""


def gauge(name: str, meaning: str, samples: Samples | float, *labels: str) -> Metric:
    """A gauge."""
    return _filled(GaugeMetricFamily(PREFIX + name, meaning, labels=labels), samples)


def counter(name: str, meaning: str, samples: Samples | float, *labels: str) -> Metric:
    """A counter; its samples' names end with `_total`."""
    return _filled(CounterMetricFamily(PREFIX + name, meaning, labels=labels), samples)


def histogram(name: str, meaning: str, distributions: Mapping[str, Distribution], label: str) -> Metric:
    """Cumulative counts by upper bound, as `histogram_quantile` reads them, for each value of the label."""
    family = HistogramMetricFamily(PREFIX + name, meaning, labels=[label])
    for value, distribution in distributions.items():
        bounds = [*map(floatToGoString, distribution.bounds), "+Inf"]
        cumulated = zip(bounds, accumulate(distribution.counts), strict=True)
        family.add_metric([value], [*cumulated], distribution.sum)
    return family


def by_name(counts: Mapping[Name, float]) -> Samples:
    """Samples with one label."""
    return [((name,), count) for name, count in counts.items()]


def _filled(family: GaugeMetricFamily | CounterMetricFamily, samples: Samples | float) -> Metric:
    for labels, value in samples if isinstance(samples, Iterable) else [((), samples)]:
        family.add_metric(labels, value)
    return family

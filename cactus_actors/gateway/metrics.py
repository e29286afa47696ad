"""What the gateway counts, and the service's own counts beside it, as Prometheus reads them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from cactus_actors.protocol.messages import Status

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
MAX_NAMES = 100
MAX_NAME_LENGTH = 64
OTHER_NAMES = "(others)"
TOKENS = (1.0, 8.0, 32.0, 128.0, 512.0, 2048.0, 8192.0, 32768.0)


class Histogram:
    """Counts of observations up to each bound."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str) -> Iterator[str]:
        """The exposition of this histogram."""
        yield f"# TYPE {name} histogram"
        total = 0
        for bound, count in zip([*self._bounds, None], self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{"+Inf" if bound is None else f"{bound:g}"}"}} {total}'
        yield f"{name}_sum {self._sum:.6f}"
        yield f"{name}_count {total}"


class Metrics:
    """Counters and histograms of one gateway; touched by its event loop only."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()  # (route, status)
        self.ignored_fields: Counter[str] = Counter()
        self.num_open = 0
        self.num_streams = 0
        self.num_gone = 0
        self.num_resumed = 0
        self.request_seconds = Histogram(SECONDS)
        self.first_token_seconds = Histogram(SECONDS)
        self.inter_token_seconds = Histogram(SECONDS)
        self.prompt_tokens = Histogram(TOKENS)
        self.completion_tokens = Histogram(TOKENS)

    def note_ignored(self, fields: Iterable[str]) -> None:
        """Count fields that nobody reads; clients choose the names, so all behind MAX_NAMES count as one."""
        for field in fields:
            name = field[:MAX_NAME_LENGTH]
            is_told = name in self.ignored_fields or len(self.ignored_fields) < MAX_NAMES
            self.ignored_fields[name if is_told else OTHER_NAMES] += 1

    def exposition(self, status: Status | None) -> str:
        """Everything as text; without `status` the service does not answer, and only `cactus_up` says so."""
        return "\n".join([*self._own(), *_of_service(status)]) + "\n"

    def _own(self) -> Iterator[str]:
        yield "# TYPE cactus_http_requests_total counter"
        for (route, code), count in sorted(self.answers.items()):
            yield _sample("cactus_http_requests_total", count, route=route, code=str(code))
        yield "# TYPE cactus_http_ignored_fields_total counter"
        for name, count in sorted(self.ignored_fields.items()):
            yield _sample("cactus_http_ignored_fields_total", count, field=name)
        yield from _single("cactus_http_requests_open", "gauge", self.num_open)
        yield from _single("cactus_http_streams_open", "gauge", self.num_streams)
        yield from _single("cactus_http_disconnects_total", "counter", self.num_gone)
        yield from _single("cactus_http_streams_resumed_total", "counter", self.num_resumed)
        yield from self.request_seconds.lines("cactus_http_request_seconds")
        yield from self.first_token_seconds.lines("cactus_time_to_first_token_seconds")
        yield from self.inter_token_seconds.lines("cactus_inter_token_seconds")
        yield from self.prompt_tokens.lines("cactus_request_prompt_tokens")
        yield from self.completion_tokens.lines("cactus_request_completion_tokens")


# field of a worker's status -> what it is called and is
_OF_WORKERS: Mapping[str, tuple[str, str]] = {
    "num_running": ("cactus_worker_running", "gauge"),
    "num_slots": ("cactus_worker_slots", "gauge"),
    "free_slots": ("cactus_worker_free_slots", "gauge"),
    "num_blocks": ("cactus_worker_blocks", "gauge"),
    "free_blocks": ("cactus_worker_free_blocks", "gauge"),
    "last_seen_s": ("cactus_worker_last_seen_seconds", "gauge"),
    "tokens_generated": ("cactus_tokens_generated_total", "counter"),
    "prompt_tokens_computed": ("cactus_prompt_tokens_computed_total", "counter"),
    "queried_prompt_tokens": ("cactus_prefix_cache_queried_tokens_total", "counter"),
    "cached_prompt_tokens": ("cactus_prefix_cache_hit_tokens_total", "counter"),
    "draft_tokens": ("cactus_draft_tokens_total", "counter"),
    "accepted_draft_tokens": ("cactus_accepted_draft_tokens_total", "counter"),
    "preemptions": ("cactus_preemptions_total", "counter"),
    "step_seconds": ("cactus_step_seconds_total", "counter"),
    "kernel_seconds": ("cactus_kernel_seconds_total", "counter"),
}
_STATES = ("queued", "running")


def _of_service(status: Status | None) -> Iterator[str]:
    yield from _single("cactus_up", "gauge", int(status is not None))
    if status is None:
        return
    yield "# TYPE cactus_info gauge"
    yield _sample("cactus_info", 1, version=status.version, model=status.model)
    yield from _single("cactus_uptime_seconds", "gauge", status.uptime_s)
    yield from _single("cactus_draining", "gauge", int(status.draining))
    yield from _single("cactus_workers_desired", "gauge", status.desired_workers)
    jobs: dict[str, int] = msgspec.to_builtins(status.jobs)
    yield "# TYPE cactus_jobs gauge"
    for state in _STATES:
        yield _sample("cactus_jobs", jobs.pop(state), state=state)
    for name, count in jobs.items():
        yield from _single(f"cactus_jobs_{name}_total", "counter", count)
    for field, (name, kind) in _OF_WORKERS.items():
        yield f"# TYPE {name} {kind}"
        for worker in status.workers:
            yield _sample(name, getattr(worker, field), worker=worker.worker_id, kind=worker.kind)


def _single(name: str, kind: str, value: float) -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    yield f"{name} {value:.9g}"


def _sample(name: str, value: float, **labels: str) -> str:
    written = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{written}}} {value:.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

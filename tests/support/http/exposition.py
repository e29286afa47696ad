"""/metrics of a real router and a real gateway after some work."""

from __future__ import annotations

from pathlib import Path

import zmq
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from cactus_actors.protocol.wire import encode
from cactus_actors.protocol.worker_messages import Report
from tests.support.router.scripted_router import until
from tests.support.router.worker_messages import make_hello
from tests.support.services.fake_worker_service import fake_worker_service

Families = dict[str, Metric]


def families_in(text: str) -> Families:
    return {family.name: family for family in text_string_to_metric_families(text)}


def is_complete(text: str) -> bool:
    """True once the refused frame and the end of the subscription are counted, which nobody waits for."""
    return 'reason="worker_message"' in text and "cactus_subscribed_jobs 0" in text


def scraped(state_dir: Path) -> str:
    """/metrics of a service that answered a stream, refused a request, and has a cloud worker."""
    with (
        fake_worker_service(state_dir) as service,
        service.http() as http,
        zmq.Context() as context,
        context.socket(zmq.DEALER) as cloud,
    ):
        cloud.linger = 0
        cloud.connect(service.endpoints.workers)
        for message in (make_hello("cloud", kind="cloud"), Report(0, 1, 0, 0, [], breaker="half_open")):
            cloud.send_multipart(encode(message))
        cloud.send_multipart([b"junk"])
        body = {"prompt": "a", "stream": True, "max_tokens": 50, "my_field": 1}
        http.post("/v1/completions", json=body).raise_for_status()
        assert http.post("/v1/completions", json={"prompt": "x" * 10_000}).status_code == 400
        until(lambda: is_complete(http.get("/metrics").text))
        response = http.get("/metrics")
        assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        return response.text

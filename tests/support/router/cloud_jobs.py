"""Jobs with a handoff threshold, and a cloud worker that fails."""

from __future__ import annotations

from typing import Any

from cactus_actors.protocol.errors import Unavailable
from cactus_actors.protocol.results import Usage
from cactus_actors.protocol.worker_messages import Dispatch, Finish
from tests.support.router.core_harness import RouterHarness
from tests.support.router.worker_messages import Worker, make_delta

STOP = Finish("stop")
THRESHOLD = 0.5
CLOUD_STOP = Finish("stop", provider="cloud.example/big", usage=Usage(prompt_tokens=9, completion_tokens=4))


def submit(router: RouterHarness, number: int = 1, **options: Any) -> None:
    router.submit(number, "question", cloud_handoff_threshold=THRESHOLD, **options)


def cloud_dispatch(router: RouterHarness, number: int = 1) -> Dispatch:
    return router.running(number, "cloud")[1]


def fail_cloud(router: RouterHarness, cloud: Worker, number: int = 1, position: int = 0) -> None:
    failure = Finish("error", error=Unavailable("the provider answered 503").info())
    dispatch_id = cloud_dispatch(router, number).dispatch_id
    router.report(cloud, make_delta(dispatch_id, position, "", entropy=None, token_ids=[], finish=failure))

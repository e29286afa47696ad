"""`cactus` whose actors reach the router at other endpoints than those it binds, such as behind a bad link.

python -m tests.chaos.soak.far_service JOBS STREAM WORKERS serve ...
"""

from __future__ import annotations

import sys

from cactus_actors.cli.main import main
from cactus_actors.process.health import Endpoints
from cactus_actors.service import service

far = Endpoints(*sys.argv[1:4])


class FarService(service.Service):
    """A service whose ready line, workers, handoff actor and gateway use the router's other endpoints."""

    @property
    def endpoints(self) -> Endpoints:
        return far

    @property
    def _workers_endpoint(self) -> str:
        return far.workers


if __name__ == "__main__":
    del sys.argv[1:4]
    service.Service = FarService  # type: ignore[misc]
    main()

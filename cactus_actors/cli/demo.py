"""`cactus demo`: the main job, end to end, on the embedded model."""

from __future__ import annotations

from cactus_actors.protocol.errors import NotSupported


def demo() -> None:
    """Serve the embedded model, run a prompt file, stream one answer, print what happened.

    Example: cactus demo
    """
    raise NotSupported("the demo is not part of this build")

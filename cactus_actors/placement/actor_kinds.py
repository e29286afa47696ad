"""The actor classes of a service."""

from __future__ import annotations

from cactus_actors.placement.interface import ActorKind
from cactus_actors.process.health import Endpoints, GatewayHealth, HandoffHealth, RouterHealth, WorkerHealth

ROUTER = ActorKind(
    "cactus_actors.router.actor", "RouterActor", {"start": Endpoints, "health": RouterHealth, "drain": bool}
)
WORKER = ActorKind("cactus_actors.workers.actor", "WorkerActor", {"health": WorkerHealth})
HANDOFF = ActorKind("cactus_actors.handoff.actor", "HandoffActor", {"health": HandoffHealth})
GATEWAY = ActorKind(
    "cactus_actors.gateway.actor", "GatewayActor", {"start": str, "health": GatewayHealth, "drain": bool}
)

"""The models of a service by the names that a command gets for them."""

from __future__ import annotations

from typing import NamedTuple

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.service_status import ModelStatus
from cactus_actors.protocol.similar_name import similar_name


class ModelNames(NamedTuple):
    """The name of a model of the service, and all its names."""

    name: str
    names: frozenset[str]


def requested_model(model: str | None, status: Status) -> ModelStatus | None:
    """The one of several models that a request's `model` asks; None for a cascade, and for a name that is unknown."""
    if model is None:
        return next(iter(status.models), None)
    adapters = {adapter.name: adapter.model for adapter in status.adapters}
    wanted = {model, model.rpartition(":")[0], adapters.get(model, "")}
    return next((it for it in status.models if not wanted.isdisjoint((it.name, *it.aliases))), None)


def model_names(name: str, status: Status, option: str) -> ModelNames:
    """The model of that name or alias; raises InvalidRequest, which says that `option` names no model of several."""
    if not status.models:
        raise InvalidRequest(f"{option}: the service has one model; several are [[models]]", param=option)
    for model in status.models:
        names = frozenset({model.name, *model.aliases})
        if name in names:
            return ModelNames(model.name, names)
    hint = similar_name(name, [model.name for model in status.models])
    raise InvalidRequest(
        f"{option}: no model {name[:80]!r}; models of this service: {status.model_names}{hint}", param=option
    )

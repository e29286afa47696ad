"""An engine that gives every other dispatch an adapter, and models with the adapters for it."""

from __future__ import annotations

from typing import Any

import msgspec

from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.loading.random_weights import random_adapter
from cactus_actors.workers.runtime.transformer import TransformerModel

ADAPTED: set[Model] = set()
"""Models with two adapters, for every engine of which half of the dispatches get one."""

KEYS = ("first", "second")


class AdaptedEngine(Engine):
    """Every other job has an adapter, one of two."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        for slot, key in enumerate(KEYS):
            self.adapters.add(key, slot)

    def add(self, dispatch: Dispatch) -> None:
        adapter = ("", KEYS[0], "", KEYS[1])[int(dispatch.job_id, 16) % 4]
        super().add(msgspec.structs.replace(dispatch, adapter=adapter))


def add_two_adapters(model: Model) -> None:
    """One of some modules and one of all; they change the outputs of a module a little."""
    assert isinstance(model, TransformerModel)
    ADAPTED.add(model)
    for seed, targets in ((1, ["q_proj", "v_proj", "up_proj", "down_proj"]), (2, [""])):
        model.add_adapter(random_adapter(model.config, seed, rank=5, targets=targets, scale=0.1))

"""The `system_fingerprint` of an answer."""

from __future__ import annotations

from cactus_actors.protocol.messages import Status


def system_fingerprint(status: Status, model: str | None) -> str:
    """Identifies the inputs of tokens apart from the seed: version, model, formats of weights, kernels.

    `model` is what a request names. A name that none of several models has, such as that of a cascade, stands for all.
    """
    formats = sorted({f"{worker.weights}-{worker.kernels}" for worker in status.workers if worker.weights})
    used = [(it.fingerprint, *it.formats) for it in status.models if _is_for(status, model, it.name, it.aliases)]
    if not used:
        used = [(it.fingerprint, *it.formats) for it in status.models] or [(status.fingerprint, *formats)]
    return "_".join(["cactus", status.version, *(part for parts in used for part in parts)])


def _is_for(status: Status, model: str | None, name: str, aliases: list[str]) -> bool:
    """True if a request for `model` runs on the model `name`, one of several."""
    if model is None:
        return name == status.models[0].name
    of_adapter = [adapter.model for adapter in status.adapters if adapter.name == model]
    return not {model, model.rpartition(":")[0], *of_adapter}.isdisjoint({name, *aliases})

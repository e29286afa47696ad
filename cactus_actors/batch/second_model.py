"""The model of a service that answers what another one was unsure of."""

from __future__ import annotations

from typing import NamedTuple

from cactus_actors.client.served_model_names import model_names
from cactus_actors.protocol.messages import Status, Submit


class SecondModel(NamedTuple):
    """The name of a model of the service, and all its names: those of answers that are its own.

    `adapters` are those of all models.
    """

    name: str
    names: frozenset[str]
    adapters: frozenset[str]

    def has_answered(self, model: str) -> bool:
        """True for the `model` of an answer of this model."""
        return model in self.names

    def refusal(self, submit: Submit) -> str:
        """The reason why it cannot be asked what another model was asked; empty if it can."""
        if submit.has_token_ids:
            return "token ids mean nothing to another model"
        model = submit.model or ""
        has_adapter = submit.options.lora or model in self.adapters or ":" in model
        return "another model does not have the adapter" if has_adapter else ""


def second_model(name: str, status: Status) -> SecondModel:
    """The model of that name or alias; raises InvalidRequest."""
    model = model_names(name, status, "--second-pass-model")
    return SecondModel(model.name, model.names, frozenset(adapter.name for adapter in status.adapters))

"""The optimizers of a training run, its learning rate over time, and the running average of the weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from training.muon import Muon

MATRIX_RATE = 0.003
OTHER_RATE = 0.002
AVERAGE_DECAY = 0.998
WARM_UP_STEPS = 60


class Optimisation:
    """Muon for matrices, AdamW for embeddings and everything else; the rates fall to zero over the run."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.average = {name: value.clone() for name, value in model.state_dict().items()}
        parameters = list(model.named_parameters())
        matrices = [parameter for name, parameter in parameters if _is_matrix(name, parameter)]
        others = [parameter for name, parameter in parameters if not _is_matrix(name, parameter)]
        self._optimizers: list[tuple[torch.optim.Optimizer, float]] = [
            (Muon(matrices, MATRIX_RATE), MATRIX_RATE),
            (torch.optim.AdamW(others, OTHER_RATE, (0.9, 0.98), weight_decay=0.0, fused=True), OTHER_RATE),
        ]

    def step(self, loss: Tensor, number: int, done: float) -> None:
        """Step `number` of a run of which the share `done` is over."""
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        factor = min(1.0, (number + 1) / WARM_UP_STEPS) * max(0.0, 1.0 - done)
        for optimizer, rate in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * factor
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            for name, value in self._model.state_dict().items():
                self.average[name].lerp_(value, 1 - min(AVERAGE_DECAY, number / (number + 10)))

    def state(self) -> dict[str, Any]:
        """The state that a checkpoint holds."""
        return {
            "model": self._model.state_dict(),
            "average": self.average,
            "optimizers": [optimizer.state_dict() for optimizer, _ in self._optimizers],
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Continue from the state of a checkpoint."""
        self._model.load_state_dict(state["model"])
        self.average = state["average"]
        for (optimizer, _), kept in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(kept)


def _is_matrix(name: str, parameter: nn.Parameter) -> bool:
    return parameter.ndim == 2 and "embed" not in name

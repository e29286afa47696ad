"""Muon: momentum with orthogonalized matrix updates, so that every direction learns at the same rate.

The quintic Newton-Schulz iteration and its coefficients are those of Keller Jordan's Muon (2024).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
NUM_ITERATIONS = 5


def orthogonalised(matrices: Tensor) -> Tensor:
    """Return matrices (number, rows, columns) of the same singular vectors whose singular values are all near 1."""
    a, b, c = COEFFICIENTS
    x = matrices.bfloat16()
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(NUM_ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).float()


class Muon(torch.optim.Optimizer):
    """Matrices of equal shape are orthogonalized together, which takes less time than one after the other."""

    def __init__(
        self, matrices: Iterable[nn.Parameter], lr: float, momentum: float = 0.95, weight_decay: float = 0.01
    ) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:
        assert closure is None, "the gradients are already there"
        for group in self.param_groups:
            of_shape: dict[torch.Size, list[nn.Parameter]] = {}
            for matrix in group["params"]:
                of_shape.setdefault(matrix.shape, []).append(matrix)
            for matrices in of_shape.values():
                self._step(matrices, group["lr"], group["momentum"], group["weight_decay"])

    def _step(self, matrices: list[nn.Parameter], rate: float, momentum: float, weight_decay: float) -> None:
        ahead = []
        for matrix in matrices:
            state = self.state[matrix]
            if "velocity" not in state:
                state["velocity"] = torch.zeros_like(matrix)
            velocity = state["velocity"]
            velocity.lerp_(matrix.grad, 1 - momentum)
            ahead.append(matrix.grad.lerp(velocity, momentum))
        rows, columns = matrices[0].shape
        scale = max(1.0, rows / columns) ** 0.5
        for matrix, direction in zip(matrices, orthogonalised(torch.stack(ahead)), strict=True):
            matrix.mul_(1 - rate * weight_decay)
            matrix.add_(direction, alpha=-rate * scale)

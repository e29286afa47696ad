"""Muon: momentum with orthogonalized matrix updates, so that every direction learns at the same rate.

The quintic Newton-Schulz iteration and its coefficients are those of Keller Jordan's Muon (2024).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
NUM_ITERATIONS = 5


def orthogonalised(matrix: Tensor) -> Tensor:
    """Return a matrix of the same singular vectors whose singular values are all near 1."""
    a, b, c = COEFFICIENTS
    x = matrix.bfloat16()
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / (x.norm() + 1e-7)
    for _ in range(NUM_ITERATIONS):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.T if tall else x).float()


class Muon(torch.optim.Optimizer):
    def __init__(
        self, matrices: Iterable[nn.Parameter], lr: float, momentum: float = 0.95, weight_decay: float = 0.01
    ) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:
        assert closure is None, "the gradients are already there"
        for group in self.param_groups:
            for matrix in group["params"]:
                state = self.state[matrix]
                if "velocity" not in state:
                    state["velocity"] = torch.zeros_like(matrix)
                velocity = state["velocity"]
                velocity.lerp_(matrix.grad, 1 - group["momentum"])
                ahead = matrix.grad.lerp(velocity, group["momentum"])
                rows, columns = matrix.shape
                scale = max(1.0, rows / columns) ** 0.5
                matrix.mul_(1 - group["lr"] * group["weight_decay"])
                matrix.add_(orthogonalised(ahead), alpha=-group["lr"] * scale)

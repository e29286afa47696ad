"""One vector for a text: the mean of its tokens' hidden states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import ModelFailure


class MeanPool:
    """Adds up hidden states token by token, so that it does not matter in how many steps they come."""

    def __init__(self) -> None:
        self._total: NDArray[np.float64] | None = None
        self._num_tokens = 0

    def restart(self) -> None:
        """Forget what was added: the sequence is computed again from its first token."""
        self._total, self._num_tokens = None, 0

    def add(self, hidden: NDArray[np.float32]) -> None:
        """The next tokens' hidden states, (tokens, hidden)."""
        if self._total is None:
            self._total = np.zeros(hidden.shape[1])
        for row in hidden:
            self._total += row
        self._num_tokens += len(hidden)

    def embedding(self) -> tuple[list[float], float]:
        """The mean at length 1, and its own length; raises ModelFailure where it has no direction."""
        assert self._total is not None, "a prompt has a token"
        mean = self._total / self._num_tokens
        length = float(np.linalg.norm(mean))
        if not (np.isfinite(length) and length > 0):
            raise ModelFailure("the hidden states have no mean with a direction")
        return [float(value) for value in mean / length], length

"""One vector for a text: its tokens' hidden states, pooled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.pooling import Pooling
from cactus_actors.protocol.errors import ModelFailure


class HiddenStatePooler:
    """Takes hidden states token by token, so that it does not matter in how many steps they come."""

    def __init__(self, kind: Pooling) -> None:
        self._kind = kind
        self._total: NDArray[np.float64] | None = None
        self._num_tokens = 0

    def restart(self) -> None:
        """Forget what was added: the sequence is computed again from its first token."""
        self._total, self._num_tokens = None, 0

    def add(self, hidden: NDArray[np.float32]) -> None:
        """The next tokens' hidden states, (tokens, hidden)."""
        if not len(hidden):
            return
        if self._kind == "lasttoken":
            self._total = hidden[-1].astype(np.float64)
        elif self._kind == "cls":
            self._total = hidden[0].astype(np.float64) if self._total is None else self._total
        else:
            self._total = np.zeros(hidden.shape[1]) if self._total is None else self._total
            for row in hidden:
                self._total += row
        self._num_tokens += len(hidden)

    def embedding(self) -> tuple[list[float], float]:
        """The vector at length 1, and its own length; raises ModelFailure where it has no direction."""
        assert self._total is not None, "a prompt has a token"
        vector = self._total / self._num_tokens if self._kind == "mean" else self._total
        length = float(np.linalg.norm(vector))
        if not (np.isfinite(length) and length > 0):
            raise ModelFailure("the hidden states have no direction together")
        return [float(value) for value in vector / length], length

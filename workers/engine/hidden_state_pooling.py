"""Embeddings: the pooled hidden states of a text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.pooling import Pooling
from cactus_actors.protocol.errors import ModelFailure


class HiddenStatePooler:
    """Pools hidden states token by token, so that the result does not depend on chunked prefill."""

    def __init__(self, kind: Pooling) -> None:
        self._kind = kind
        self._total: NDArray[np.float64] | None = None
        self._num_tokens = 0

    def restart(self) -> None:
        """Forget all hidden states: the sequence is computed again from its first token."""
        self._total, self._num_tokens = None, 0

    def add(self, hidden: NDArray[np.float32]) -> None:
        """Add the hidden states of the next tokens, (tokens, hidden)."""
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
        """The unit vector and the length before normalisation; raises ModelFailure for a zero vector."""
        assert self._total is not None, "a prompt has a token"
        vector = self._total / self._num_tokens if self._kind == "mean" else self._total
        length = float(np.linalg.norm(vector))
        if not (np.isfinite(length) and length > 0):
            raise ModelFailure("the pooled hidden states have no direction: their length is zero or not finite")
        return [float(value) for value in vector / length], length

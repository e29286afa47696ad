"""The interface of constraints on the tokens of a sequence (structured output)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class TokenConstraint(Protocol):
    """Allows tokens one after another in one sequence; used by one thread.

    The engine reads `bitmask` after the forward pass of each token, then calls `accept` with the sampled token.
    Tokens of earlier dispatches are accepted first. An exception ends this sequence only.
    """

    def accept(self, token_id: int) -> None:
        """Advance by a token that the mask allowed; never called with an end token that ends the text.

        The next mask may be computed on another thread during the forward pass.
        """

    def bitmask(self) -> NDArray[np.int32]:
        """Allowed next tokens: bit i % 32 of word i // 32 is token i; valid until `accept`.

        End tokens are allowed where the text may end. Tokens beyond the mask are not allowed.
        """

    @property
    def is_finished(self) -> bool:
        """True if the text is complete and only its end may follow; then no mask is read."""


NewConstraint = Callable[[str], TokenConstraint]
"""Creates a constraint from `Dispatch.grammar`; raises InvalidRequest for an unsupported grammar."""

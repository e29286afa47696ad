"""What the tokens of a sequence must obey, as the engine sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class TokenConstraint(Protocol):
    """Says, token by token, what may come next in one sequence; used by one thread.

    The engine asks for the `bitmask` of every token when the forward pass before it is done, and hands the
    token back with `accept`. What an earlier attempt emitted is accepted first. A method that raises ends its
    sequence, and no other.
    """

    def accept(self, token_id: int) -> None:
        """Go on behind a token that the mask allowed; never called with an end token that ends the text.

        Work on the next mask may begin at once, on another thread: the model's forward pass comes first.
        """

    def bitmask(self) -> NDArray[np.int32]:
        """The tokens that may come next: bit i % 32 of word i // 32 is token i; valid until `accept`.

        All end tokens are among them where the text may end here. Tokens beyond the mask may not come.
        """

    @property
    def is_finished(self) -> bool:
        """Whether the text is complete and nothing but its end may follow; then no mask is asked for."""


NewConstraint = Callable[[str], TokenConstraint]
"""From `Dispatch.grammar`, at the start of a text; raises InvalidRequest for one that it cannot take."""

"""The probe of prompts: whether a larger model is needed, from the hidden state of a prompt's last token."""

from __future__ import annotations

import math
from array import array
from operator import mul
from typing import Annotated

import msgspec

NUM_CANDIDATES = 7


class PromptProbe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A logistic regression on the hidden state of a prompt's last token after `layer` layers.

    Its value is the probability that asking a second model does not help: that the local answer will be right or, if
    it `has_second`, that of the second model wrong. It is fitted to the model with this fingerprint, and invalid for
    others.
    """

    fingerprint: str
    layer: Annotated[int, msgspec.Meta(ge=1)]
    has_second: bool
    bias: float
    weights: Annotated[list[float], msgspec.Meta(min_length=1)]

    def __call__(self, state: bytes) -> float:
        """The value for a state, float32 in the order of the weights."""
        total = self.bias + sum(map(mul, self.weights, array("f", state)))
        return 1.0 / (1.0 + math.exp(min(700.0, -total)))


def candidate_layers(num_layers: int) -> list[int]:
    """The numbers of layers from which a fit to a model chooses: at most NUM_CANDIDATES, evenly spaced."""
    places = {round(num_layers * place / (NUM_CANDIDATES + 1)) for place in range(1, NUM_CANDIDATES + 1)}
    return sorted(places - {0, num_layers})

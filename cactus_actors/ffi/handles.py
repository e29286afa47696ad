"""Models by the numbers that C code holds as pointers."""

from __future__ import annotations

import itertools

from cactus_actors.sdk import CactusModel, CallFailed


class Handles:
    """Numbers are not reused, so that use after destruction is detected."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._models: dict[int, CactusModel] = {}

    def add(self, model: CactusModel) -> int:
        """The number of a new model."""
        number = next(self._numbers)
        self._models[number] = model
        return number

    def find(self, number: int) -> CactusModel:
        """The model of a number; raises CallFailed for NULL, a destroyed model and an unknown number."""
        if number == 0:
            raise CallFailed("Model not initialized")
        if number not in self._models:
            raise CallFailed("not a model, or one that was destroyed")
        return self._models[number]

    def remove(self, number: int) -> CactusModel:
        """Remove and return the model; raises CallFailed."""
        model = self.find(number)
        del self._models[number]
        return model

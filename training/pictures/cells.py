"""Labels of a picture's cells, one for each of its embeddings: they teach the encoder directly what is where."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from training.pictures.colours import COLOURS
from training.pictures.scene import KINDS, Scene

NUM_KINDS, NUM_COLOURS = len(KINDS) + 1, len(COLOURS) + 1


def cell_labels(scene: Scene, cells_per_side: int) -> npt.NDArray[np.int64]:
    """(2, cells): kind and colour, from 1, of the shape whose centre is in the cell; 0 where there is none."""
    labels = np.zeros((2, cells_per_side, cells_per_side), np.int64)
    side = min(scene.width, scene.height)
    for item in scene.items:
        column, row = (
            min(cells_per_side - 1, int(place * side / extent * cells_per_side))
            for place, extent in ((item.x, scene.width), (item.y, scene.height))
        )
        labels[:, row, column] = KINDS.index(item.kind) + 1, COLOURS.index(item.colour) + 1
    return labels.reshape(2, -1)

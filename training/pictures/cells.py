"""Labels of a picture's cells and patches: they teach the encoder directly what is where.

An embedding stands for a cell, a state of the encoder for a patch.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from training.pictures.colours import COLOURS
from training.pictures.drawing import draw_item
from training.pictures.scene import KINDS, Item, Scene

NUM_KINDS, NUM_COLOURS = len(KINDS) + 1, len(COLOURS) + 1
_SAMPLES = 6
"""Points along a side of a patch at which it is looked at."""
_MIN_COVERED = 0.2


def cell_labels(scene: Scene, cells_per_side: int) -> npt.NDArray[np.int64]:
    """(2, cells): kind and colour, from 1, of the shape whose centre is in the cell; 0 where there is none."""
    labels = np.zeros((2, cells_per_side, cells_per_side), np.int64)
    side = min(scene.width, scene.height)
    for item in scene.items:
        column, row = (
            min(cells_per_side - 1, int(place * side / extent * cells_per_side))
            for place, extent in ((item.x, scene.width), (item.y, scene.height))
        )
        labels[:, row, column] = _label_of(item)
    return labels.reshape(2, -1)


def patch_labels(scene: Scene, patches_per_side: int) -> npt.NDArray[np.int64]:
    """(2, patches): kind and colour, from 1, of the shape that covers most of the patch; 0 where that is too little."""
    labels = np.zeros((2, patches_per_side**2), np.int64)
    if not scene.items:
        return labels
    picture = Image.new("L", (scene.width, scene.height))
    canvas = ImageDraw.Draw(picture)
    for number, item in enumerate(scene.items, 1):
        draw_item(canvas, item, scene, fill=number)
    at = (np.arange(patches_per_side * _SAMPLES) + 0.5) / (patches_per_side * _SAMPLES)
    rows, columns = ((at * extent).astype(np.int64) for extent in (scene.height, scene.width))
    samples = np.asarray(picture)[np.ix_(rows, columns)]
    blocks = samples.reshape(patches_per_side, _SAMPLES, patches_per_side, _SAMPLES).transpose(0, 2, 1, 3)
    covered = (blocks.reshape(-1, _SAMPLES**2, 1) == np.arange(1, len(scene.items) + 1)).mean(1)
    is_covered = covered.max(1) >= _MIN_COVERED
    names = np.array([_label_of(item) for item in scene.items])
    labels[:, is_covered] = names[covered.argmax(1)[is_covered]].T
    return labels


def _label_of(item: Item) -> tuple[int, int]:
    return KINDS.index(item.kind) + 1, COLOURS.index(item.colour) + 1

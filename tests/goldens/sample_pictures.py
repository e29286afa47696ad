"""Pictures made by a formula, the same for the program that writes the references and for the tests."""

from __future__ import annotations

import numpy as np
from PIL import Image


def sample_picture(width: int, height: int, seed: int) -> Image.Image:
    """Waves of three colours with noise: what a filter does at each frequency shows."""
    rows, columns = np.mgrid[:height, :width]
    waves = [np.sin(columns / (2 + seed + channel)) + np.cos(rows / (3 + channel)) for channel in range(3)]
    noise = np.random.default_rng([seed, width, height]).integers(-60, 61, (height, width, 3))
    pixels = 128 + 45 * np.stack(waves, axis=-1) + noise
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def sampled(pixels: np.ndarray, num_pixels: int = 40) -> np.ndarray:
    """Some pixels of a tile, (num_pixels, 3), always those of the same places; `pixels` is (height, width, 3)."""
    flat = pixels.reshape(-1, 3)
    return flat[np.random.default_rng(len(flat)).integers(0, len(flat), num_pixels)]

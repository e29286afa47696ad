"""Weights: read from files as float32, one tensor at a time."""

from workers.weights.reader import read_weights
from workers.weights.tensors import TensorSource

__all__ = ["TensorSource", "read_weights"]

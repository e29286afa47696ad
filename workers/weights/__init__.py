"""Weights: read from files as float32, one tensor at a time, and packed for the kernels."""

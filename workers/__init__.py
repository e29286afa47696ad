"""Model workers: a numba inference runtime with a paged KV cache behind one actor."""

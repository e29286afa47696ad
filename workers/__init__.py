"""Model workers: an actor with an inference engine on numba and a paged KV cache."""

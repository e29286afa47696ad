"""Models in memory: weights read from files and packed once. Adapters (LoRA) would go here; there are none yet."""

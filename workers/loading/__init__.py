"""Models in memory: weights read from files and packed once. Adapters (LoRA) belong here, beside the weights."""

"""The shape of a model and how config.json and GGUF metadata describe it."""

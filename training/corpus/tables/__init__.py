"""What the model is taught, as tables."""

"""A test set written by hand, which is never trained on."""

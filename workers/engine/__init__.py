"""One engine step: schedule sequences, run the model, sample tokens, report the new tokens."""

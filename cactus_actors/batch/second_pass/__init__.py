"""The second pass over a finished run: a larger model is asked what the first one was unsure of."""

"""The second pass over a finished run: the cloud is asked in batches what the local model was unsure of."""

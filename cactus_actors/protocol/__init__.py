"""The wire protocol: messages and their frames, options, results and errors. Every package above may import it."""

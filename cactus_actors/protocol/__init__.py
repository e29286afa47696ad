"""The wire protocol: messages and their frames, options, results and errors. Every other package imports it."""

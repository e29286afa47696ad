"""The protocol: messages, their frames, job options and errors. Everything else stands on it."""

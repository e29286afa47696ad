"""What crosses a socket: messages and their frames, options, results and errors. Everything stands on it."""

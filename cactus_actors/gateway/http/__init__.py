"""HTTP itself: what is let in, how bodies are read, who is still there."""

"""Jobs on disk: written, read back, and what is held of them in memory."""

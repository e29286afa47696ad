"""The embedded model cactus-sprout: its corpus, its training and its evaluation."""

"""How the embedded model cactus-sprout is made: its corpus, its training and its examination."""

"""The corpus, the network and the training of cactus-bloom, the embedded model of pictures."""

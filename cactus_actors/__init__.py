"""cactus-actors: small language models on CPUs, a big one in the cloud for the rest."""

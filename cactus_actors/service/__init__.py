"""The service that `cactus serve` runs: checks settings, places the actors and supervises them."""

"""What a token costs the router: the core by itself, with workers that are played."""

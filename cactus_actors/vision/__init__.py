"""Pictures of requests: reading, safe decoding, and the tiles and tokens that a model's encoder takes."""

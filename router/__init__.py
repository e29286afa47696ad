"""Router actor: the only waiting queue, placement, streams and results."""

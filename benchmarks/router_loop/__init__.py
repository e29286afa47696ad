"""CPU time of the router per token: the core alone, with fake workers."""

"""A fleet in virtual time: the router's core, schedulers and block pools are real, the clock is simulated."""

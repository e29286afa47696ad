"""A fleet in virtual time: the real core of the router, real schedulers and block pools, a played clock."""

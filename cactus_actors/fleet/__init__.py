"""Fleet policy: how many actors of a service exist, and when each is started, drained or replaced."""

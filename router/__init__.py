"""The router actor: accepts jobs, queues them, sends them to workers and streams their results."""

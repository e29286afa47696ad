"""Counters, job log, spans and metrics: what the router tells about jobs that ended."""

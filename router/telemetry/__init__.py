"""Counters, and reports of ended jobs: job log, spans, metrics."""

"""Benchmarks: what docs/performance.md states, reproduced."""

"""Benchmarks: what docs/internals/performance.md states, reproduced."""

"""Benchmarks that reproduce the figures of docs/internals/performance.md."""

"""Handlers of HTTP paths, one file per group of paths."""

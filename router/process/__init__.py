"""The router's own process: memory limit, garbage collection, calls from other threads, loop delays."""

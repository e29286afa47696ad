"""Processes: their health messages, memory, CPU starvation, restarts, clocks and private directories."""

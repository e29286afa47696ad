"""Connections of clients and workers: keys, bound sockets, rate limits and limits of file descriptors."""

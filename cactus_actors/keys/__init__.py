"""CURVE keys: authentication over ZeroMQ, key files and the key store of a service."""

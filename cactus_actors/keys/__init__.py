"""CURVE keys: who may speak with a service over ZeroMQ, and what each key file holds."""

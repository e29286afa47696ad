"""Examines a machine for `cactus doctor`: what a service needs of it, and what to do where something is missing."""

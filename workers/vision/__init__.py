"""Encoders of pictures, as graphs."""

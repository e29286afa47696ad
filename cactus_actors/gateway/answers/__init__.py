"""Answers as HTTP bodies and event streams."""

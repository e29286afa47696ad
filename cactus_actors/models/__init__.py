"""Finds models on disk and on the hub, and reads their files with checks; the models that ship with the package."""

"""Handlers of HTTP paths, one file a group of paths.

The page for people will be a package of its own beside this one: `gateway/page/`.
"""

"""Handlers of HTTP paths, one file per group of paths.

A web page will be a package of its own beside this one: `gateway/page/`.
"""

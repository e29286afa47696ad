"""The SDK's functions for C: a header, and a shared library that embeds this Python."""

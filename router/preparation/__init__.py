"""Turns a request into token ids, sampling parameters and a grammar, in a separate process."""

"""The corpus: conversations made by our own code from small tables, kind by kind, with fixed seeds."""

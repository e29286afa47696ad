"""A table of reviews, and a prompt for each."""

from __future__ import annotations

import pyarrow as pa

REVIEWS = pa.table(
    {
        "id": pa.array([3, 1, 2], pa.int32()),
        "text": ["good soup", None, "cold soup"],
        "stars": [5.0, 3.5, 1.0],
        "tags": [["a", "b"], [], None],
    }
)
TEMPLATE = ("--prompt-template", "Say: {{ text }}")
ANSWERS = ["Say: good soup w1 w2 w3 w4", "Say:  w1 w2 w3 w4", "Say: cold soup w1 w2 w3 w4"]
"""The answers of a scripted router."""

"""The text of several tokens, cut into one text per token."""

from __future__ import annotations

from collections.abc import Sequence


def split_token_texts(text: str, num_tokens: int, cuts: Sequence[int]) -> list[str]:
    """The text of each token; without `cuts`, one fewer than tokens, all of it is the last one's."""
    if num_tokens <= 1 or len(cuts) != num_tokens - 1:
        return [""] * (num_tokens - 1) + [text]
    return [text[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)]

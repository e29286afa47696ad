"""What a person sees: answers as they come, and a dim line on how sure they are."""

from __future__ import annotations

import re
import sys

from cactus_actors.protocol.results import Result


def show(text: str) -> None:
    """Write a piece of an answer at once; on a terminal without the control characters it may hold."""
    if sys.stdout.isatty():
        text = "".join(letter for letter in text if letter in "\n\t" or letter.isprintable())
    sys.stdout.write(text)
    sys.stdout.flush()


def natural_order(name: str) -> list[tuple[int, str]]:
    """A sort key by which worker-2 comes before worker-10."""
    pieces = re.split(r"(\d+)", name)  # every second one is a number
    return [(int(piece), "") if place % 2 else (-1, piece) for place, piece in enumerate(pieces)]


def summary(result: Result) -> str:
    """Confidence, tokens and speed in one line."""
    parts = []
    if result.confidence is not None:
        parts.append(f"confidence {result.confidence:.2f}")
    parts.append(f"{result.usage.completion_tokens} tokens")
    if result.timings.decode_tokens_per_second:
        parts.append(f"{result.timings.decode_tokens_per_second:.0f} tokens/s")
    if result.finish_reason != "stop":
        parts.append(f"ended by {result.finish_reason}")
    if result.cloud_handoff:
        parts.append(f"answered by {result.handoff.provider or 'the cloud'}")
    elif result.handoff.status != "none":
        parts.append(f"handoff {result.handoff.status}")
    return " · ".join(parts)

"""The contract of decoders: a value or one typed error, within a time limit."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings

from cactus_actors.protocol.errors import CactusError

MAX_SECONDS = 3.0  # rendering a template may take two of them
MAX_MESSAGE_CHARACTERS = 1000
# never part of a message of ours: a stack, an address
INSIDES = re.compile(r"Traceback|0x[0-9a-f]{8,}")

Decoded = TypeVar("Decoded")


def fuzzed(quick: int, *, derandomize: bool = True, **others: Any) -> settings:
    """Run this number of examples, the same ones every time unless `derandomize` is false; the profile `fuzz` sets its
    own number and draws new ones. `others` are settings for both.
    """
    if settings.get_current_profile_name() == "fuzz":
        return settings(**others)
    checks = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
    return settings(max_examples=quick, derandomize=derandomize, suppress_health_check=checks, **others)


def answer(
    decode: Callable[..., Decoded], *arguments: Any, names: Collection[str] = (), **keywords: Any
) -> Decoded | CactusError:
    """Return the value of `decode`, or its refusal, which names one of `names`, if there are any.

    Any other exception, and more than MAX_SECONDS of this thread's time, fails the test.
    """
    began = time.thread_time()
    result: Decoded | CactusError
    try:
        result = decode(*arguments, **keywords)
    except CactusError as error:
        result = error
        message = error.message
        assert message.strip(), "a refusal says what is wrong"
        assert len(message) <= MAX_MESSAGE_CHARACTERS, f"{len(message)} characters: {message[:200]}"
        assert not INSIDES.search(message), message
        assert not names or any(name in message for name in names), f"{message!r} names none of {names}"
    seconds = time.thread_time() - began
    assert seconds < MAX_SECONDS, f"it took {seconds:.1f} s"
    return result

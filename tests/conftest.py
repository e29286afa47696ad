"""Fixtures and settings of all tests: one cache directory per run, no key of the user, options of hypothesis."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import hypothesis
import pytest
import typer.main
import typer.testing

pytest_plugins = ["tests.support.distribution", "tests.support.router.standing_objects"]

# Helpers assert under `python -O` too.
pytest.register_assert_rewrite(*(f"tests.{path.stem}" for path in Path(__file__).parent.glob("[a-z]*")))

# The duration of an example depends on the load of the machine. Each run draws others, and `make fuzz` many more.
hypothesis.settings.register_profile("any machine", deadline=None, max_examples=50)
hypothesis.settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "2000")),
    print_blob=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("any machine")


# Ray reads it when it is imported, and a file of tests may import it.
os.environ["RAY_AUTH_MODE"] = "token"

# Background jobs of a shell ignore SIGINT, and so would the processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _environment(shared_directory: Path) -> Iterator[None]:
    cache = shared_directory / "cache"
    cache.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CACTUS_CACHE_DIR", str(cache))
        patch.delenv("CACTUS_KEY_FILE", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _commands() -> Iterator[None]:
    """All runs of commands in this process share the parsed declarations, which otherwise take 80 ms each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.main.get_command))
        yield

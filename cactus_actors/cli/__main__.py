"""The program `cactus`; an interrupt during imports ends it without a traceback."""

from __future__ import annotations

import sys

EXIT_INTERRUPTED = 130
NEW_OBJECTS = 50_000
"""New objects after which those of them that are in cycles are freed; the imports of a command make more."""


def main() -> None:
    """Load the commands and run one; see `cactus_actors.cli.main`.

    Python examines neither the modules again and again while it loads them, nor all objects at the end: this is a
    quarter of the time of a short command.
    """
    try:
        import atexit
        import gc

        gc.set_threshold(NEW_OBJECTS)
        atexit.register(gc.freeze)
        from cactus_actors.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()

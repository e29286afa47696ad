"""The program `cactus`; an interrupt during imports ends it without a traceback."""

from __future__ import annotations

import sys

EXIT_INTERRUPTED = 130


def main() -> None:
    """Load the commands and run one; see `cactus_actors.cli.main`."""
    try:
        from cactus_actors.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()

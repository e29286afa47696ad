"""python -m tests.chaos.soak --minutes 30 [--seed N] [--fault NAME] [--keep DIR]"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.chaos.soak.checker import violations
from tests.chaos.soak.growth import told
from tests.chaos.soak.history import read
from tests.chaos.soak.running import soak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--fault-every", type=float, default=5.0, metavar="SECONDS")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME", help="only this; repeatable")
    parser.add_argument("--keep", type=Path, help="where the history and the log are written")
    arguments = parser.parse_args()
    directory = arguments.keep or Path(tempfile.mkdtemp(prefix="soak-"))
    directory.mkdir(parents=True, exist_ok=True)
    print(f"seed {arguments.seed}, history in {directory}", flush=True)
    path = asyncio.run(
        soak(
            directory,
            seconds=60 * arguments.minutes,
            seed=arguments.seed,
            num_clients=arguments.clients,
            fault_every_s=arguments.fault_every,
            faults=arguments.fault,
        )
    )
    events = list(read(path))
    counts = Counter(event["kind"] for event in events)
    faults = Counter(event["name"] for event in events if event["kind"] == "fault")
    failures = Counter(event["error"] for event in events if event["kind"] == "fail")
    print("\n".join(told(events)))
    print(f"events   {dict(counts)}\nfaults   {dict(faults)}\nfailures {dict(failures)}")
    found = violations(events)
    print("\n".join(found) or "every promise held")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()

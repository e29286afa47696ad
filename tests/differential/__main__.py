"""Random tiny models of every family, compared with transformers.

python -m tests.differential [--seed N] [--examples N] [--only NUMBER]
python -m tests.differential --tokens 300 --greedy 64

Each configuration must be refused by name or have the log-probabilities that transformers has, and its greedy ids.
Example NUMBER of a seed is the same whatever else is run. The exit status is 1 if one is wrong.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable
from random import Random

import torch
import transformers

from tests.differential.configurations import FAMILIES, Configuration, drawn
from tests.differential.judging import BOUND, Outcome, judged
from tests.differential.long_prompts import lengthened
from tests.differential.reference import quiet


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", type=int, default=300)
    parser.add_argument("--only", type=int, help="the number of one example")
    parser.add_argument("--tokens", type=int, help="of a prompt; by default 2 to 60, and those of pictures")
    parser.add_argument("--greedy", type=int, default=0, help="ids after the prompt that are compared")
    parser.add_argument("--reasons", action="store_true", help="say why models are refused or not compared")
    arguments = parser.parse_args()
    quiet()
    numbers = range(arguments.examples) if arguments.only is None else [arguments.only]
    print(f"seed {arguments.seed}, transformers {transformers.__version__}, torch {torch.__version__}")
    return run(arguments, numbers)


def run(arguments: argparse.Namespace, numbers: Iterable[int]) -> int:
    """Try the examples of these numbers; print the wrong ones and the counts of all outcomes."""
    began, largest, num_ties = time.monotonic(), 0.0, 0
    counts: Counter[tuple[str, str]] = Counter()
    for number in numbers:
        configuration = drawn(FAMILIES[number % len(FAMILIES)], Random(f"{arguments.seed}:{number}"))
        if arguments.tokens is not None:
            configuration = lengthened(configuration, arguments.tokens)
        outcome = judged(configuration, arguments.greedy)
        counts[configuration.family.architecture, outcome.verdict] += 1
        largest = max(largest, outcome.error if outcome.verdict == "right" else 0.0)
        num_ties += outcome.ties
        if outcome.verdict == "wrong" or arguments.reasons:
            print(told(number, configuration, outcome), flush=True)
    verdicts = ("right", "refused", "no reference", "wrong")
    print(f"\n{'':32}" + "".join(f"{verdict:>14}" for verdict in verdicts))
    for name in [*(family.architecture for family in FAMILIES), "all"]:
        row = [sum(n for key, n in counts.items() if name in (key[0], "all") and key[1] == v) for v in verdicts]
        print(f"{name:32}" + "".join(f"{number:14}" for number in row))
    ties = f", {num_ties} greedy ids as good" if arguments.greedy else ""
    print(f"largest error {largest:.1e} (up to {BOUND:.0e} is right){ties}, {time.monotonic() - began:.0f} s")
    return int(any(verdict == "wrong" for _, verdict in counts))


def told(number: int, configuration: Configuration, outcome: Outcome) -> str:
    """One example in words: its unusual keys, and its outcome."""
    config = configuration.config.get("text_config", configuration.config)
    changed = {key: config[key] for key in configuration.changed if key in config}
    found = outcome.reason.replace("\n", " ")[:200] or f"error {outcome.error:.1e}"
    name = configuration.family.architecture
    head = "" if configuration.head == "as saved" else f", head {configuration.head}"
    return f"{number} {outcome.verdict}: {name} {json.dumps(changed)}{head}: {found}"


if __name__ == "__main__":
    raise SystemExit(main())

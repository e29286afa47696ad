"""Print the evaluation set of cactus-sprout as labelled questions for `cactus calibrate`.

Questions without exactly one right answer are left out: stories and unknowable questions.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from training.corpus.registry import evaluation_samples
from training.corpus.sample import Sample
from training.corpus.tools import parsed_call
from training.evaluate import NOT_ANSWERABLE, SEED, WITHOUT_ONE_ANSWER


def labelled(sample: Sample) -> dict[str, Any]:
    """One line: the conversation, and the expected answer or call."""
    question = {"messages": list(sample.prompt), "tools": list(sample.tools)}
    call = parsed_call(sample.wanted) if sample.kind == "tool calls" else None
    if call is None:
        return question | {"answer": sample.wanted}
    return question | {"calls": [{"name": call[0], "arguments": call[1]}]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-kind", type=int, default=40)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    for sample in evaluation_samples(options.seed, options.per_kind):
        if sample.kind not in (NOT_ANSWERABLE, WITHOUT_ONE_ANSWER):
            print(json.dumps(labelled(sample)))


if __name__ == "__main__":
    main()

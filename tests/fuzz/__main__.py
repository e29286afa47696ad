"""Coverage-guided fuzzing: `python -m tests.fuzz forms.schemas -max_total_time=60`.

The name is that of a file and a test without `test_fuzz_` and `test_`, the rest are options of libFuzzer.
Needs the extra `fuzz`; a test that takes fixtures cannot be run in this way.
"""

from __future__ import annotations

import importlib
import sys

import atheris


def main() -> None:
    place, *options = sys.argv[1:] or ["forms.schemas"]
    file, _, name = place.partition(".")
    with atheris.instrument_imports(include=["cactus_actors", "router", "workers"]):
        module = importlib.import_module(f"tests.fuzz.test_fuzz_{file}")
    test = getattr(module, f"test_{name}")
    atheris.Setup([place, *options], test.hypothesis.fuzz_one_input)
    atheris.Fuzz()


main()

"""External suites of schemas and grammars.

CACTUS_STRUCTURED_DATA names a directory with the JSON-Schema-Test-Suite (`tests/draft2020-12` and
`tests/draft7` anywhere below it) and llama.cpp's grammars (`*.gbnf` anywhere below it).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.json_schema_suite import measure
from tests.support.text.grammar_texts import accepts, grammar_of

VARIABLE = "CACTUS_STRUCTURED_DATA"
TEXTS = {
    "json": ('{"a": [1, true, "x"]}', "[1]"),
    "json_arr": ('[\n1,\n"x"]', "{}"),
    "list": ("- one\n- two\n", "one\n"),
    "arithmetic": ("a+1*(b -2)=3\n", "a+=3\n"),
    "chess": ("1. e4 e5\n2. Nf3 Nc6+\n", "e4\n"),
    "c": ("int main(){return 0;}", "int main( {"),
}

pytestmark = pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no directory")


def below(pattern: str) -> list[Path]:
    return sorted(Path(os.environ.get(VARIABLE, os.devnull)).rglob(pattern))


@pytest.mark.parametrize(("draft", "compiled"), [("draft2020-12", 0.6), ("draft7", 0.7)])
def test_the_json_schema_suite_is_enforced_or_refused(draft: str, compiled: float) -> None:
    (directory,) = (path for path in below(draft) if path.parent.name == "tests")
    outcome = measure(directory)
    assert outcome.wrongly_taken == []
    assert outcome.num_valid_taken >= 0.95 * outcome.num_valid
    assert outcome.num_compiled >= compiled * outcome.num_schemas


@pytest.mark.parametrize("path", below("*.gbnf"), ids=lambda path: path.stem)
def test_grammars_are_accepted(path: Path) -> None:
    grammar = grammar_of(grammar=path.read_text(encoding="utf-8"))
    if path.stem in TEXTS:
        valid, invalid = TEXTS[path.stem]
        assert accepts(grammar, valid)
        assert not accepts(grammar, invalid)

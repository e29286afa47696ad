"""Coverage of the JSON-Schema-Test-Suite: accepted schemas and valid instances, rejected invalid ones.

python -m benchmarks.json_schema_suite ../JSON-Schema-Test-Suite/tests/draft2020-12

An instance counts as taken when its JSON, in the order of the schema's properties, is a text of the grammar.
The suite is from github.com/json-schema-org/JSON-Schema-Test-Suite.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llguidance import LLMatcher, LLTokenizer

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.options import Options
from cactus_actors.structured import compile_request


class NoTokens:
    """An empty vocabulary: schemas name no tokens."""

    vocab_size = 0

    def id_of(self, token: str) -> int | None:
        """No token has a name."""
        raise KeyError(token)

    def is_special(self, token_id: int) -> bool:
        """No token is special."""
        raise KeyError(token_id)


@dataclass(slots=True)
class Outcome:
    """Counts of schemas and instances, and failures per file."""

    num_schemas: int = 0
    num_compiled: int = 0
    num_valid: int = 0
    num_valid_taken: int = 0
    num_invalid: int = 0
    num_invalid_taken: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wrongly_taken: list[str] = field(default_factory=list)
    wrongly_refused: list[str] = field(default_factory=list)


def measure(directory: Path) -> Outcome:
    """Check all schemas of `directory` except the optional ones."""
    outcome = Outcome()
    for path in sorted(directory.glob("*.json")):
        for case in json.loads(path.read_text(encoding="utf-8")):
            outcome.num_schemas += 1
            try:
                grammar = compile_request(Options(json_schema=case["schema"]), NoTokens())
            except InvalidRequest as error:
                outcome.refused[f"{type(error).__name__}: {error.message[:60]}"] += 1
                _count_unsatisfiable(error, case, outcome)
                continue
            outcome.num_compiled += 1
            matcher = LLMatcher(LLTokenizer("byte"), grammar, log_level=0)
            for test in case["tests"]:
                is_taken = any(_takes(matcher, text) for text in _texts(test["data"], case["schema"]))
                label = f"{path.stem}: {case['description']}: {test['description']}"
                if test["valid"]:
                    outcome.num_valid += 1
                    outcome.num_valid_taken += is_taken
                    outcome.wrongly_refused += [] if is_taken else [label]
                else:
                    outcome.num_invalid += 1
                    outcome.num_invalid_taken += is_taken
                    outcome.wrongly_taken += [label] if is_taken else []
    return outcome


def _count_unsatisfiable(error: InvalidRequest, case: dict[str, Any], outcome: Outcome) -> None:
    """Count a schema that no instance can satisfy: it is understood if the suite has no valid instance of it."""
    if error.type == "schema_unsatisfiable" and not any(test["valid"] for test in case["tests"]):
        outcome.num_compiled += 1
        outcome.num_invalid += len(case["tests"])


def _takes(matcher: LLMatcher, text: str) -> bool:
    copy, read = matcher.deep_copy(), text.encode()
    return copy.try_consume_tokens(list(read)) == len(read) and copy.is_accepting()


def _texts(value: Any, schema: Any) -> Iterator[str]:
    """The spellings of an instance: plain numbers, properties in their own order and in that of the schema."""
    listed = list(schema.get("properties", {})) if isinstance(schema, dict) else []
    values = [value]
    if isinstance(value, dict):
        values.append({name: value[name] for name in [*listed, *value] if name in value})
    for one in values:
        try:
            yield json.dumps(one, ensure_ascii=False)
            one.encode() if isinstance(one, str) else None
        except UnicodeEncodeError:
            return
        if isinstance(one, float) and one.is_integer() and abs(one) < 1e15:
            yield json.dumps(int(one))


def main() -> None:
    """Print the shares of one directory of the suite."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--details", action="store_true", help="print each failure")
    arguments = parser.parse_args()
    outcome = measure(arguments.directory)
    print(f"schemas compiled      {_share(outcome.num_compiled, outcome.num_schemas)}")
    print(f"valid instances taken {_share(outcome.num_valid_taken, outcome.num_valid)}")
    num_refused = outcome.num_invalid - outcome.num_invalid_taken
    print(f"invalid ones refused  {_share(num_refused, outcome.num_invalid)}")
    if arguments.details:
        print("taken against the suite:", *outcome.wrongly_taken, sep="\n  ")
        print("refused against the suite:", *outcome.wrongly_refused, sep="\n  ")
        print("schemas refused:", *(f"{n:4} {why}" for why, n in outcome.refused.most_common()), sep="\n  ")


def _share(part: int, whole: int) -> str:
    return f"{part:5} of {whole:5}  {part / max(1, whole):6.1%}"


if __name__ == "__main__":
    main()

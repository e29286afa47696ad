"""docs/reference/model-configs.md: values of config.json that families support and refuse, and memory of prefixes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.families.family import Family
from cactus_actors.workers.families.registry import FAMILIES
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from docs.generate.config_values import ABSENT, OTHERS, TRIALS, Trial
from docs.generate.layout import WIDTH, page
from docs.generate.model_memory import MEMORY, memory_rows

CHECKPOINTS = Path(__file__).parents[2] / "tests" / "goldens"
"""Tiny checkpoints of all families."""


class Outcome(NamedTuple):
    """Values of a key that a family supports and refuses, as shown."""

    supported: tuple[str, ...]
    refused: tuple[str, ...]


def tiny_config(family: Family) -> dict[str, Any]:
    """The config.json with most keys among the tiny checkpoints of a family."""
    found: list[dict[str, Any]] = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted(CHECKPOINTS.glob("*/config.json"))
    ]
    return max((values for values in found if values["architectures"][0] in family.architectures), key=len)


def outcome_of(family: Family, values: Mapping[str, Any], trial: Trial) -> Outcome | None:
    """The values of a key that the family supports and refuses; None if the key does not concern it.

    That is the case if the key changes nothing, or if the keys beside it are refused. A refusal must name the key.
    """
    base = _read(family, values)
    read: dict[str, ModelConfig] = {}
    refused: list[str] = []
    for shown, changes in trial.values.items():
        try:
            read[shown] = _read(family, {**values, **trial.beside, **changes(values, base)})
        except ModelFileInvalid as error:
            if not any(name in error.message for name in trial.names or trial.key.split(".")):
                if not _is_read(family, {**values, **trial.beside}):
                    return None
                raise AssertionError(f"{family.name} refuses {trial.key} {shown} without its key") from error
            refused.append(shown)
    if not refused and all(config == next(iter(read.values())) for config in read.values()):
        return None
    return Outcome(tuple(read), (OTHERS,) if OTHERS in refused else tuple(refused))


def _read(family: Family, values: Mapping[str, Any]) -> ModelConfig:
    given = {key: value for key, value in values.items() if value is not ABSENT}
    return family.read_json(ConfigKeys(Path("config.json"), given))


def _is_read(family: Family, values: Mapping[str, Any]) -> bool:
    try:
        _read(family, values)
    except ModelFileInvalid:
        return False
    return True


def _rows() -> Iterator[str]:
    configs = {family.name: tiny_config(family) for family in FAMILIES}
    for trial in TRIALS:
        families: dict[Outcome, list[str]] = {}
        for family in FAMILIES:
            outcome = outcome_of(family, configs[family.name], trial)
            if outcome is not None:
                families.setdefault(outcome, []).append(family.name)
        assert families, f"no family reads {trial.key}"
        num_concerned = sum(map(len, families.values()))
        for outcome, names in sorted(families.items(), key=lambda item: len(item[1])):
            cells = ", ".join(outcome.supported) or "-", ", ".join(outcome.refused) or "-"
            yield from _rows_of(trial.key, names, cells, has_others=len(names) < num_concerned == len(FAMILIES))


def _rows_of(key: str, names: list[str], cells: tuple[str, str], *, has_others: bool) -> Iterator[str]:
    """A row for these families, or more where one is too long."""
    missing = [family.name for family in FAMILIES if family.name not in names]
    rest = "all others" if has_others else f"all but {', '.join(missing)}"
    if not missing:
        yield _row(f"`{key}`", "all", *cells)
    elif len(names) > len(missing) and len(row := _row(f"`{key}`", rest, *cells)) <= WIDTH:
        yield row
    else:
        shown: list[str] = []
        for name in names:
            if shown and len(_row(f"`{key}`", ", ".join([*shown, name]), *cells)) > WIDTH:
                yield _row(f"`{key}`", ", ".join(shown), *cells)
                shown = []
            shown.append(name)
        yield _row(f"`{key}`", ", ".join(shown), *cells)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


INTRODUCTION = """\
`make docs` writes this table from the code: it gives each value to the config.json of a tiny checkpoint of each family
(`tests/goldens`), and reads it. A value is supported if a model with it is computed as transformers computes it; it is
refused with an error that names the key. A family that a key's rows do not name ignores the key, as its class of
transformers does. Families are described in [models](models.md); numbers stand for all numbers of their kind."""


def model_configs_page() -> str:
    """The text of the page."""
    memory = [_row(*cells) for cells in memory_rows()]
    return page(
        "Model configurations",
        INTRODUCTION,
        _table(_row("key", "families", "supported", "refused"), _rows()),
        MEMORY,
        _table(memory[0], memory[1:]),
    )


def _table(heading: str, rows: Iterable[str]) -> str:
    lines = [heading, _row(*["---"] * (heading.count("|") - 1)), *rows]
    too_long = [line for line in lines if len(line) > WIDTH]
    assert not too_long, too_long
    return "\n".join(lines)

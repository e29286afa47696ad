"""docs/reference/model-configs.md: values of config.json that families support and refuse, and memory of prefixes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.families.family import Family
from cactus_actors.workers.families.registry import FAMILIES, family_of_architectures, family_of_gguf
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from docs.generate.config_values import ABSENT, OTHERS, TRIALS, TRIALS_OF_PICTURES, Trial
from docs.generate.gguf_values import TRIALS_OF_GGUF
from docs.generate.layout import WIDTH, page
from docs.generate.model_memory import MEMORY, memory_rows
from tests.goldens.to_gguf import write_gguf
from tests.goldens.to_mmproj import write_pair

CHECKPOINTS = Path(__file__).parents[2] / "tests" / "goldens"
"""Tiny checkpoints of all families."""
_HEADING = "| key | families | supported | refused |"


class Outcome(NamedTuple):
    """Values of a key that a family supports and refuses, as shown."""

    supported: tuple[str, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True)
class Reader:
    """A family's reader of config.json or of GGUF metadata, and the keys of a tiny checkpoint."""

    family: str
    values: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], ModelConfig]

    def config_of(self, values: Mapping[str, Any]) -> ModelConfig:
        """The config of these keys, without those that are ABSENT."""
        return self.read({key: value for key, value in values.items() if value is not ABSENT})

    def reads(self, values: Mapping[str, Any]) -> bool:
        """True if the keys are not refused."""
        try:
            self.config_of(values)
        except ModelFileInvalid:
            return False
        return True


def reader_of_json(family: Family) -> Reader:
    """The reader of config.json."""
    return _reader_of(family, _checkpoint_of(family) / "config.json")


def readers_of_pictures() -> list[Reader]:
    """The readers of config.json of the families with a checkpoint that reads pictures."""
    found: dict[str, Reader] = {}
    for path in sorted(CHECKPOINTS.glob("with_pictures/*/config.json")):
        architectures = json.loads(path.read_text(encoding="utf-8"))["architectures"]
        family = family_of_architectures(path, architectures)
        found.setdefault(family.name, _reader_of(family, path))
    return [found[family.name] for family in FAMILIES if family.name in found]


def _reader_of(family: Family, path: Path) -> Reader:
    values = json.loads(path.read_text(encoding="utf-8"))
    return Reader(family.name, values, lambda keys: family.read_json(ConfigKeys(path, keys)))


def reader_of_gguf(family: Family) -> Reader:
    """The reader of the metadata below the name of the architecture."""
    checkpoint = _checkpoint_of(family)
    has_pictures = checkpoint.parent.name == "with_pictures"
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.gguf"
        file = open_gguf(write_pair(checkpoint, path.parent).text if has_pictures else write_gguf(checkpoint, path))
    prefix = f"{file.metadata['general.architecture']}."
    reading = family_of_gguf(file.path, file.metadata)  # files of two families may have one architecture
    values = {key.removeprefix(prefix): file.metadata[key] for key in file.metadata if key.startswith(prefix)}

    def read(keys: Mapping[str, Any]) -> ModelConfig:
        given = {f"{prefix}{key}": value for key, value in keys.items()}
        return reading.read_gguf(ConfigKeys(file.path, given, prefix), file)

    return Reader(family.name, values, read)


def _checkpoint_of(family: Family) -> Path:
    """The tiny checkpoint of a family whose config.json has most keys."""
    paths = sorted([*CHECKPOINTS.glob("*/config.json"), *CHECKPOINTS.glob("with_pictures/*/config.json")])
    found = {path: json.loads(path.read_text(encoding="utf-8")) for path in paths}
    own = [path for path, values in found.items() if values["architectures"][0] in family.architectures]
    return max(own, key=lambda path: len(found[path])).parent


def outcome_of(reader: Reader, trial: Trial) -> Outcome | None:
    """The values of a key that the family supports and refuses; None if the key does not concern it.

    That is the case if the key changes nothing, or if the other keys are refused. A refusal must name the key.
    """
    values = reader.values
    base = reader.config_of(values)
    read: dict[str, ModelConfig] = {}
    refused: list[str] = []
    for shown, changes in trial.values.items():
        try:
            read[shown] = reader.config_of({**values, **trial.beside, **changes(values, base)})
        except ModelFileInvalid as error:
            if not any(name in error.message for name in trial.names or trial.key.split(".")):
                if not reader.reads({**values, **trial.beside}):
                    return None
                raise AssertionError(f"{reader.family} refuses {trial.key} {shown} without its key") from error
            refused.append(shown)
    if not refused and all(config == next(iter(read.values())) for config in read.values()):
        return None
    return Outcome(tuple(read), (OTHERS,) if OTHERS in refused else tuple(refused))


def _rows(readers: Sequence[Reader], trials: Sequence[Trial], everyone: Sequence[str] = ()) -> Iterator[str]:
    """The rows of the trials; `everyone` are the families among which those of `readers` are named."""
    everyone = list(everyone or (reader.family for reader in readers))
    for trial in trials:
        families: dict[Outcome, list[str]] = {}
        for reader in readers:
            outcome = outcome_of(reader, trial)
            if outcome is not None:
                families.setdefault(outcome, []).append(reader.family)
        assert families, f"no family reads {trial.key}"
        num_concerned = sum(map(len, families.values()))
        for outcome, names in sorted(families.items(), key=lambda item: len(item[1])):
            cells = ", ".join(outcome.supported) or "-", ", ".join(outcome.refused) or "-"
            has_others = len(names) < num_concerned == len(everyone)
            yield from _rows_of(trial.key, names, everyone, cells, has_others=has_others)


def _rows_of(
    key: str, names: list[str], everyone: list[str], cells: tuple[str, str], *, has_others: bool
) -> Iterator[str]:
    """A row for these families, or more where one is too long."""
    missing = [name for name in everyone if name not in names]
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
`make docs` writes these tables from the code: it gives each value to the files of a tiny checkpoint of each family
(`tests/goldens`), and reads them. A value is supported if a model with it is computed as transformers computes it; it
is refused with an error that names the key. A family that a key's rows do not name ignores the key, as its class of
transformers does. The `text_config` of SmolVLM is read as by Llama, that of LFM2-VL as by LFM2. Families are described
in [models](models.md); numbers stand for all numbers of their kind."""
GGUF = """\
These are keys of the metadata below the name of the architecture, such as `llama.`. Tensors that the architecture does
not have, and those of another shape than the config's, are refused too."""


def model_configs_page() -> str:
    """The text of the page."""
    memory = [_row(*cells) for cells in memory_rows()]
    readers = [reader_of_json(family) for family in FAMILIES]
    of_text = _rows(readers, TRIALS)
    of_pictures = _rows(readers_of_pictures(), TRIALS_OF_PICTURES, [reader.family for reader in readers])
    of_gguf = [family for family in FAMILIES if family.gguf_architectures]
    return page(
        "Model configurations",
        INTRODUCTION,
        "## config.json",
        _table(_HEADING, [*of_text, *of_pictures]),
        "## GGUF",
        GGUF,
        _table(_HEADING, _rows(list(map(reader_of_gguf, of_gguf)), TRIALS_OF_GGUF)),
        MEMORY,
        _table(memory[0], memory[1:]),
    )


def _table(heading: str, rows: Iterable[str]) -> str:
    lines = [heading, _row(*["---"] * (heading.count("|") - 1)), *rows]
    too_long = [line for line in lines if len(line) > WIDTH]
    assert not too_long, too_long
    return "\n".join(lines)

"""Checks a model's files before actors are placed, in a process of its own to save this one the libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from cactus_actors.config import WorkerSettings
from cactus_actors.config_models import AdapterSetting, ModelMemory
from cactus_actors.placement.local.local_placement import environment_of_children
from cactus_actors.process.parent_death import end_with_parent
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.errors import CactusError, error_from_info
from cactus_actors.protocol.model_overrides import NO_OVERRIDES, ModelOverrides

PROGRAM = "cactus_actors.service.model_check"
REFUSED = 3
"""An exit code that the Python interpreter does not use."""


class _Question(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    overrides: ModelOverrides
    adapters: list[str]
    drafts: bool
    measured_with: WorkerSettings | None
    parent: int


class CheckedModel(msgspec.Struct, frozen=True):
    """The model's own name, and its memory if that was asked for."""

    name: str
    memory: ModelMemory | None = None


def check_model(
    path: Path,
    overrides: ModelOverrides = NO_OVERRIDES,
    adapters: Sequence[AdapterSetting] = (),
    *,
    drafts: bool = False,
    measured_with: WorkerSettings | None = None,
) -> CheckedModel | None:
    """Check a model and its adapters; None if the check itself failed.

    With `drafts`, the model must have a head for them. Its memory is that with the settings `measured_with`.

    Raises ModelFileInvalid or ConfigurationInvalid for files that no worker and no router could load.
    Headers, configuration, tokenizer and chat template are read, and adapters; the model's weights are not.
    """
    paths = [adapter.path for adapter in adapters]
    question = _Question(
        path=str(path),
        overrides=overrides,
        adapters=paths,
        drafts=drafts,
        measured_with=measured_with,
        parent=os.getpid(),
    )
    checked = subprocess.run(
        [sys.executable, "-P", "-m", PROGRAM, msgspec.json.encode(question).decode()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # the actors that load the model print warnings
        process_group=0,
        env=environment_of_children(),
        check=False,
    )
    if checked.returncode == REFUSED:
        raise error_from_info(msgspec.json.decode(checked.stdout, type=ErrorInfo))
    if checked.returncode == 0:
        return msgspec.json.decode(checked.stdout, type=CheckedModel)
    return None  # any other exit says nothing about the files; the actors will report errors


def main() -> None:
    """Check the model named in the arguments; exit code REFUSED with the error on standard output, or 0."""
    question = msgspec.json.decode(sys.argv[1], type=_Question)
    end_with_parent(question.parent)
    from cactus_actors.models.mmproj_path import find_mmproj
    from cactus_actors.text import load_text_model
    from cactus_actors.workers.loading.adapter_reader import read_adapter
    from cactus_actors.workers.loading.engine_limits import memory_of
    from cactus_actors.workers.loading.model_reader import read_model

    try:
        text = load_text_model(Path(question.path), question.overrides)
        mmproj = find_mmproj(Path(question.path), question.overrides.mmproj)
        files = read_model(Path(question.path), mmproj, drafts=question.drafts)
        for adapter in question.adapters:
            read_adapter(Path(adapter), files)
        memory = None if question.measured_with is None else memory_of(files, question.measured_with)
    except CactusError as error:
        sys.stdout.buffer.write(msgspec.json.encode(error.info()))
        sys.stdout.flush()
        os._exit(REFUSED)
    sys.stdout.buffer.write(msgspec.json.encode(CheckedModel(text.name, memory)))


if __name__ == "__main__":
    main()

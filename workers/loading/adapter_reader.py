"""Reads an adapter from a directory of PEFT or a GGUF file."""

from __future__ import annotations

from pathlib import Path

from cactus_actors.models.checked_files import invalid
from cactus_actors.workers.loading.adapter_modules import AdapterModules
from cactus_actors.workers.loading.gguf_adapter import read_gguf_adapter
from cactus_actors.workers.loading.model_reader import ModelFiles
from cactus_actors.workers.loading.peft_adapter import CONFIG_NAME, read_peft
from cactus_actors.workers.runtime.adapter_sites import AdapterWeights


def read_adapter(path: Path, files: ModelFiles) -> AdapterWeights:
    """The adapter in `path` for the model of `files`, in float32.

    Raises ModelFileInvalid, which names the key or tensor that is wrong, not of this model, or not supported.
    """
    modules = AdapterModules.of(files)
    try:
        is_file, is_directory = path.is_file(), (path / CONFIG_NAME).is_file()
    except OSError as error:
        raise invalid(path, f"cannot be read: {error.strerror}") from error
    if is_file:
        return read_gguf_adapter(path, modules)
    if not is_directory:
        raise invalid(path, f"neither a GGUF file nor a directory with {CONFIG_NAME}")
    return read_peft(path, modules)

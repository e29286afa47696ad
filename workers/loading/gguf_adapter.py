"""Adapters in GGUF files, as llama.cpp's converter writes them.

Tensors are NAME.lora_a, (rank, inputs), and NAME.lora_b, (outputs, rank), for the tensor NAME of the model's file. The
scale is `adapter.lora.alpha` / rank, or 1 where alpha is 0. Rows and columns are in the order of GGUF files.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.workers.families.family import unchanged
from cactus_actors.workers.loading.adapter_modules import AdapterBuilder, AdapterModules
from cactus_actors.workers.loading.model_reader import _name_of_gguf
from cactus_actors.workers.runtime.adapter_sites import AdapterWeights
from cactus_actors.workers.spec.config_keys import ConfigKeys

DOWN, UP = ".lora_a", ".lora_b"


def read_gguf_adapter(path: Path, modules: AdapterModules) -> AdapterWeights:
    """The adapter in a file; raises ModelFileInvalid, which names the key or tensor."""
    file = open_gguf(path)
    keys = ConfigKeys(path, file.metadata)
    keys.require_one_of("general.type", "adapter")
    keys.require_one_of("adapter.type", "lora")
    keys.require_one_of("general.architecture", *modules.family.gguf_architectures)
    keys.require_one_of("adapter.alora.invocation_tokens", None)
    alpha = keys.number("adapter.lora.alpha", "alpha", 0.0)
    builder = AdapterBuilder(path, modules, {})
    names = [name.removesuffix(DOWN) for name in file.tensors if name.endswith(DOWN)]
    if unpaired := file.tensors.keys() - {name + end for name in names for end in (DOWN, UP)}:
        raise invalid(path, f"tensor {min(unpaired)!r} is not supported; supported: pairs of {DOWN} and {UP}")
    for name in names:
        if name + UP not in file.tensors:
            raise invalid(path, f"{name!r} has {DOWN} only")
        module = _name_of_gguf(name, modules.family.gguf_names) or name
        down, up = file.read_tensor(name + DOWN), file.read_tensor(name + UP)
        scale = alpha / len(down) if alpha else 1.0
        if module in modules.shapes and (len(up), *down.shape[1:]) == modules.shapes[module]:
            down, up = _as_in_hugging_face(module, down, up, modules)
        builder.add(module, [module], down, up, scale)
    return builder.result()


def _as_in_hugging_face(
    module: str, down: NDArray[np.float32], up: NDArray[np.float32], modules: AdapterModules
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The matrices with the module's inputs and outputs in the order of Hugging Face files."""
    adjust = modules.family.adjust_gguf
    if adjust is unchanged:
        return down, up
    shape = modules.shapes[module]
    outputs, inputs = (np.arange(extent, dtype=np.float32) for extent in shape)
    # views: a matrix of the output layer in float32 may take gigabytes
    rows = adjust(modules.config, module, np.broadcast_to(outputs[:, None], shape))[:, 0]
    columns = adjust(modules.config, module, np.broadcast_to(inputs[None], shape))[0]
    return down[:, columns.astype(np.intp)], up[rows.astype(np.intp)]

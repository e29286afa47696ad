"""Files of adapters as PEFT and llama.cpp write them, and models with merged weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from cactus_actors.workers.runtime.adapter_sites import AdapterWeights

Tensors = Mapping[str, NDArray[np.float32]]


def merged(tensors: Tensors, weights: AdapterWeights, *, tied: bool) -> dict[str, NDArray[np.float32]]:
    """The tensors of a model with W + B A in the place of W; a tied head must not be adapted."""
    assert not (tied and "lm_head" in weights)
    changed = dict(tensors)
    for name, (down, up) in weights.items():
        changed[name] = (tensors[name].astype(np.float64) + up.astype(np.float64) @ down).astype(np.float32)
    return changed


def write_peft(directory: Path, weights: AdapterWeights, **changes: Any) -> Path:
    """A directory of PEFT; `changes` replace keys of its config, which has a scale of 1 for a rank of 4."""
    directory.mkdir(exist_ok=True)
    targets = sorted({name.rpartition(".")[2] for name in weights})
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": "tiny",
        "r": 4,
        "lora_alpha": 4,
        "lora_dropout": 0.05,
        "bias": "none",
        "fan_in_fan_out": False,
        "target_modules": targets,
        "modules_to_save": None,
        "use_rslora": False,
        "use_dora": False,
        "rank_pattern": {},
        "alpha_pattern": {},
        "layers_to_transform": None,
        "layers_pattern": None,
        "init_lora_weights": True,
        "inference_mode": True,
    }
    (directory / "adapter_config.json").write_text(json.dumps(config | changes))
    tensors: dict[str, NDArray[np.float32]] = {}
    for name, (down, up) in weights.items():
        module = f"base_model.model.{name}" if name == "lm_head" else f"base_model.model.model.{name}"
        tensors |= {f"{module}.lora_A.weight": down, f"{module}.lora_B.weight": np.ascontiguousarray(up)}
    save_file(tensors, directory / "adapter_model.safetensors")
    return directory


def write_gguf_adapter(path: Path, tensors: Tensors, *, architecture: str = "llama", **metadata: Any) -> Path:
    """A GGUF file of an adapter; `tensors` are by their whole names there."""
    writer = gguf.GGUFWriter(path, architecture)
    values = {"general.type": "adapter", "adapter.type": "lora", "adapter.lora.alpha": 4.0} | metadata
    for key, value in values.items():
        add = writer.add_string if isinstance(value, str) else writer.add_float32
        add(key, value)
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path

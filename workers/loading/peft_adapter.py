"""Adapters of PEFT: adapter_config.json and adapter_model.safetensors.

The output of a module is W x + scale * B (A x); the scale is alpha / rank (Hu et al. 2021), or alpha / sqrt(rank) with
`use_rslora` (Kalajdzievski 2023). Rank and alpha may be given for some modules by patterns of their names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.checked_files import invalid, read_json_object
from cactus_actors.workers.loading.adapter_modules import AdapterBuilder, AdapterModules
from cactus_actors.workers.loading.name_patterns import NamePatterns
from cactus_actors.workers.loading.safetensors_file import SafetensorsFile, open_safetensors
from cactus_actors.workers.runtime.adapter_sites import AdapterWeights
from cactus_actors.workers.spec.config_keys import ConfigKeys

CONFIG_NAME, WEIGHTS_NAME, PICKLE_NAME = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"
ROOT = "base_model.model."

# Initial values that leave the model's own weights as they are.
INITIAL_VALUES = (True, False, "gaussian", "eva", "orthogonal", None)
ONLY_FALSE = ("use_dora", "use_qalora", "lora_bias", "fan_in_fan_out")
ONLY_EMPTY = (
    *("modules_to_save", "layer_replication", "trainable_token_indices", "target_parameters"),
    *("alora_invocation_tokens", "arrow_config", "megatron_config"),
)
READ = frozenset(
    {
        *("peft_type", "r", "lora_alpha", "use_rslora", "rank_pattern", "alpha_pattern", "bias", "init_lora_weights"),
        *("target_modules", "exclude_modules", "layers_to_transform", "layers_pattern"),
        *ONLY_FALSE,
        *ONLY_EMPTY,
    }
)
# Of training, of the model's name, or of options that are refused.
UNUSED = frozenset(
    {
        *("task_type", "auto_mapping", "base_model_name_or_path", "revision", "inference_mode", "peft_version"),
        *("lora_dropout", "megatron_core", "loftq_config", "eva_config", "corda_config", "qalora_group_size"),
        *("runtime_config", "ensure_weight_tying", "parent_library", "base_model_class"),
    }
)


class PeftConfig(NamedTuple):
    """Ranks and scales of adapter_config.json."""

    keys: ConfigKeys
    rank: int
    alpha: float
    is_rank_stabilised: bool
    rank_pattern: Mapping[str, Any]
    alpha_pattern: Mapping[str, Any]
    patterns: NamePatterns

    @classmethod
    def read(cls, path: Path) -> PeftConfig:
        """Raises ModelFileInvalid, which names a key that is not supported."""
        keys = ConfigKeys(path, read_json_object(path))
        keys.require_one_of("peft_type", "LORA")
        for key in ONLY_FALSE:
            keys.require_one_of(key, False, None)
        for key in ONLY_EMPTY:
            keys.require(not keys.get(key), key, "none")
        keys.require_one_of("bias", "none", None)
        keys.require_one_of("init_lora_weights", *INITIAL_VALUES)
        for key in sorted(keys.values.keys() - READ - UNUSED):
            keys.require(not keys.get(key), key, "none")  # of a newer version: it may change the formula
        alpha = keys.number("lora_alpha", "alpha", 8)
        keys.require(alpha != 0, "lora_alpha", "numbers with an effect")
        return cls(
            keys,
            keys.integer("r", "rank", 8),
            alpha,
            keys.boolean("use_rslora", default=False),
            _pattern(keys, "rank_pattern"),
            _pattern(keys, "alpha_pattern"),
            NamePatterns(),
        )

    def rank_of(self, module: str) -> int:
        rank = self._matching("rank_pattern", self.rank_pattern, module, self.rank)
        if type(rank) is not int or rank < 1:
            raise invalid(self.keys.path, f"rank_pattern has {rank!r:.40}, not a rank")
        return rank

    def scale_of(self, module: str) -> float:
        """The factor of B (A x)."""
        alpha = self._matching("alpha_pattern", self.alpha_pattern, module, self.alpha)
        rank = self.rank_of(module)
        if type(alpha) not in (int, float) or not math.isfinite(alpha):
            raise invalid(self.keys.path, f"alpha_pattern has {alpha!r:.40}, not a number")
        return float(alpha) / (math.sqrt(rank) if self.is_rank_stabilised else rank)

    def has_target(self, module: str) -> bool:
        """True if target_modules name the module; if they are null, every one."""
        targets = self.keys.get("target_modules")
        if targets is None or targets == "all-linear":
            return True
        if isinstance(targets, str):
            return self._is_match("target_modules", targets, module)
        if not isinstance(targets, list) or not all(isinstance(target, str) for target in targets):
            raise invalid(self.keys.path, "target_modules must be a list of names or a pattern")
        return any(f".{module}".endswith(f".{target}") for target in targets)

    def _matching(self, key: str, pattern: Mapping[str, Any], module: str, default: Any) -> Any:
        """The first value of a pattern whose name is the end of the module's name, or matches it."""
        for name, value in pattern.items():
            if self._is_match(key, name, module, may_be_end=True):
                return value
        return default

    def _is_match(self, key: str, pattern: str, module: str, *, may_be_end: bool = False) -> bool:
        try:
            return self.patterns.matches(pattern, module, may_be_end=may_be_end)
        except ValueError as error:
            raise invalid(self.keys.path, f"{key} has the pattern {pattern!r:.100}: {error}") from None

    @property
    def is_for_all_layers(self) -> bool:
        """True if every module whose name ends in one of a list of names has an adapter."""
        limits = ("exclude_modules", "layers_to_transform", "layers_pattern")
        return isinstance(self.keys.get("target_modules"), list) and not any(map(self.keys.get, limits))


def read_peft(directory: Path, modules: AdapterModules) -> AdapterWeights:
    """The adapter in `directory`; raises ModelFileInvalid, which names the file and the key or tensor."""
    config = PeftConfig.read(directory / CONFIG_NAME)
    if not (directory / WEIGHTS_NAME).is_file():
        is_pickle = (directory / PICKLE_NAME).exists()
        advice = f"; {PICKLE_NAME} is not read, because pickle runs code: save it as safetensors" if is_pickle else ""
        raise invalid(directory, f"no file {WEIGHTS_NAME}{advice}")
    file = open_safetensors(directory / WEIGHTS_NAME)
    builder = AdapterBuilder(file.path, modules, {})
    for module in _modules_of(file):
        if not config.has_target(module):
            raise invalid(file.path, f"{module!r} is not one of the target_modules of {CONFIG_NAME}")
        down, up = (_read(file, module, matrix) for matrix in "AB")
        rank = config.rank_of(module)
        if down.ndim != 2 or len(down) != rank:
            raise invalid(file.path, f"{module!r} has the shape {down.shape}, {CONFIG_NAME} says the rank {rank}")
        builder.add(module, modules.parts_of(module), down, up, config.scale_of(module))
    if config.is_for_all_layers:
        for name in modules.shapes.keys() - builder.weights.keys() - modules.routers:
            if config.has_target(name):
                raise invalid(file.path, f"no tensors of {name!r}, which target_modules of {CONFIG_NAME} name")
    return builder.result()


def _modules_of(file: SafetensorsFile) -> list[str]:
    """The modules with two matrices each; any other tensor is refused."""
    modules: dict[str, set[str]] = {}
    for name in file.tensors:
        match = re.fullmatch(re.escape(ROOT) + r"(.+)\.lora_([AB])\.weight", name)
        if match is None:
            raise invalid(file.path, f"tensor {name!r} is not supported; supported: lora_A and lora_B of matrices")
        modules.setdefault(match[1], set()).add(match[2])
    for module, matrices in modules.items():
        if len(matrices) < 2:
            raise invalid(file.path, f"{module!r} has lora_{min(matrices)} only")
    return list(modules)


def _read(file: SafetensorsFile, module: str, matrix: str) -> NDArray[np.float32]:
    return file.read_tensor(f"{ROOT}{module}.lora_{matrix}.weight")


def _pattern(keys: ConfigKeys, key: str) -> Mapping[str, Any]:
    below = keys.below(key)
    return {name.removeprefix(below.prefix): value for name, value in below.values.items()}

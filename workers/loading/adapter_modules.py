"""The modules of a model to which an adapter may add, and checks of its matrices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.checked_files import invalid
from cactus_actors.workers.families.family import Family
from cactus_actors.workers.loading.model_reader import ModelFiles
from cactus_actors.workers.runtime.adapter_sites import AdapterWeights, LowRank, adapter_sites
from cactus_actors.workers.spec.experts_config import STACK
from cactus_actors.workers.spec.model_config import ModelConfig


@dataclass(frozen=True)
class AdapterModules:
    """The part of a model that readers of adapters need: shapes (outputs, inputs) by canonical name."""

    family: Family
    config: ModelConfig
    shapes: Mapping[str, tuple[int, int]]
    routers: frozenset[str]  # modules that tools for training seldom adapt

    @classmethod
    def of(cls, files: ModelFiles) -> AdapterModules:
        """The modules of a model."""
        sites = adapter_sites(files.graph)
        shapes = {name: site.shape_of(name) for site in sites for name in site.modules}
        routers = frozenset(name for site in sites if site.is_router for name in site.modules)
        return cls(files.family, files.config, shapes, routers)

    def parts_of(self, module: str) -> list[str]:
        """The modules whose matrices this one holds below each other in Hugging Face files; most have one."""
        name = module
        for wrapper in ("model.", "language_model.", "model."):
            name = name.removeprefix(wrapper)
        match = re.fullmatch(r"(layers\.\d+\.)(.+)", name)
        names = self.family.stacked_names.get(match[2]) if match else None
        if match is None or names is None or any(STACK in part for part in names):
            return [name]
        return [match[1] + part for part in names]


@dataclass(frozen=True)
class AdapterBuilder:
    """Checks the matrices of an adapter's file, one module at a time; errors are ModelFileInvalid."""

    path: Path
    modules: AdapterModules
    weights: dict[str, LowRank]

    def add(
        self, module: str, parts: list[str], down: NDArray[np.float32], up: NDArray[np.float32], scale: float
    ) -> None:
        """Add what an adapter has for `module`: (rank, inputs), and (outputs, rank), which is scaled."""
        with np.errstate(over="ignore", invalid="ignore"):  # too large for float32: refused below
            up = up * np.float32(scale)
        for name in parts:
            if name not in self.modules.shapes:
                raise invalid(self.path, f"{module!r} {self._why_not(name)}")
        outputs = sum(self.modules.shapes[name][0] for name in parts)
        inputs = self.modules.shapes[parts[0]][1]
        if down.ndim != 2 or up.ndim != 2 or len(down) != up.shape[1] or not len(down):
            raise invalid(self.path, f"{module!r} has matrices of {list(down.shape)} and {list(up.shape)}, not a rank")
        if (len(up), down.shape[1]) != (outputs, inputs):
            given = f"{down.shape[1]} inputs and {len(up)} outputs"
            raise invalid(self.path, f"{module!r} has {given}, that of the model {inputs} and {outputs}")
        if not (np.isfinite(down).all() and np.isfinite(up).all()):
            raise invalid(self.path, f"{module!r} has values that are not finite")
        for name, (first, last) in zip(parts, self._bounds(parts), strict=True):
            if name in self.weights:
                raise invalid(self.path, f"{module!r} is present twice, under two names")
            self.weights[name] = LowRank(down, up[first:last])

    def result(self) -> AdapterWeights:
        """The whole adapter, which has a module at least."""
        if not self.weights:
            raise invalid(self.path, "no tensors of an adapter")
        return self.weights

    def _bounds(self, parts: list[str]) -> Iterator[tuple[int, int]]:
        first = 0
        for name in parts:
            yield first, first + self.modules.shapes[name][0]
            first += self.modules.shapes[name][0]

    def _why_not(self, name: str) -> str:
        if name.startswith("embed_tokens"):
            return "is an embedding; adapters of embeddings are not supported"
        if STACK in name or ".experts" in name:
            return "belongs to experts; adapters of experts are not supported"
        family, num_layers = self.modules.family.name, self.modules.config.num_layers
        return f"is not a matrix of this model (family {family}, {num_layers} layers)"

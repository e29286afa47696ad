"""Load a model: from its files, from tensors, or with random weights.

Importing this module is light: numba is imported with the first model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.config_models import CacheFormat, WeightFormat, cache_format

if TYPE_CHECKING:
    from cactus_actors.workers.engine.model import Model
    from cactus_actors.workers.loading.packing import OnProgress
    from cactus_actors.workers.spec.model_config import ModelConfig


def load_model(
    path: Path,
    mmproj: Path | None = None,
    *,
    weights: WeightFormat,
    threads: int,
    kv_cache: CacheFormat = "auto",
    drafts: bool = False,
    on_progress: OnProgress = lambda *_: None,
) -> Model:
    """Load and compile the model of a directory or GGUF file; it is packed once, then mapped from the cache.

    `mmproj` is the file of a GGUF model's encoder of pictures. With `drafts` the model's head for drafts is loaded.

    Raises ModelFileInvalid, or ConfigurationInvalid for unsupported weights or threads, or a model without that head.
    """
    from cactus_actors.workers.loading.model_reader import read_model
    from cactus_actors.workers.loading.packed_file import packed_arenas, packed_path
    from cactus_actors.workers.runtime.layout import WeightLayout
    from cactus_actors.workers.runtime.transformer import TransformerModel

    files = read_model(path, mmproj, drafts=drafts)
    layout = WeightLayout.for_weights(files.graph, weights)
    arenas = packed_arenas(packed_path(path, layout, mmproj), files, layout, on_progress)
    return TransformerModel(
        files.config, files.graph, layout, arenas, threads=threads, kv_format=cache_format(kv_cache, weights)
    )


def compile_step(
    path: Path,
    mmproj: Path | None = None,
    *,
    weights: WeightFormat,
    kv_cache: CacheFormat = "auto",
    drafts: bool = False,
) -> None:
    """Compile what `load_model` compiles but for packing: with zeros for weights, in pages that nothing writes.

    Raises as `load_model` does.
    """
    from cactus_actors.workers.loading.model_reader import read_model
    from cactus_actors.workers.runtime.layout import Arenas, WeightLayout
    from cactus_actors.workers.runtime.transformer import TransformerModel

    files = read_model(path, mmproj, drafts=drafts)
    layout = WeightLayout.for_weights(files.graph, weights)
    kv_format = cache_format(kv_cache, weights)
    TransformerModel(files.config, files.graph, layout, Arenas.empty(layout), threads=1, kv_format=kv_format).close()


def adapter_loader(model_path: Path, mmproj: Path | None, model: Model) -> Callable[[str], int]:
    """A function that loads the adapter in a directory or GGUF file into the model, and returns its slot.

    It raises ModelFileInvalid.
    """
    from cactus_actors.workers.loading.adapter_reader import read_adapter
    from cactus_actors.workers.loading.model_reader import read_model
    from cactus_actors.workers.runtime.transformer import TransformerModel

    assert isinstance(model, TransformerModel), "it was loaded from files"

    def load(path: str) -> int:
        return model.add_adapter(read_adapter(Path(path), read_model(model_path, mmproj)))

    return load


class PackedModel(NamedTuple):
    """The file of a packed model; `is_new` if this call wrote it."""

    path: Path
    is_new: bool


def pack_model(
    path: Path,
    mmproj: Path | None = None,
    *,
    weights: WeightFormat,
    drafts: bool = False,
    on_progress: OnProgress = lambda *_: None,
) -> PackedModel:
    """Write a model to the cache of packed models, unless it is there.

    Raises ModelFileInvalid, or OSError if the cache cannot be written.
    """
    from cactus_actors.workers.loading.model_reader import read_model
    from cactus_actors.workers.loading.packed_file import ensure_packed, packed_path
    from cactus_actors.workers.runtime.layout import WeightLayout

    files = read_model(path, mmproj, drafts=drafts)
    layout = WeightLayout.for_weights(files.graph, weights)
    target = packed_path(path, layout, mmproj)
    return PackedModel(target, ensure_packed(target, files, layout, on_progress))


def model_from_tensors(
    config: ModelConfig,
    tensors: Mapping[str, NDArray[np.float32]],
    *,
    weights: WeightFormat,
    threads: int,
    kv_cache: CacheFormat = "auto",
) -> Model:
    """A model from tensors with the names and shapes of its graph, packed into memory of this process.

    Raises ModelFileInvalid for tensors that do not fit, ConfigurationInvalid as `load_model` does.
    """
    from cactus_actors.workers.families.family import build_graph
    from cactus_actors.workers.families.registry import family_named
    from cactus_actors.workers.loading.packing import pack
    from cactus_actors.workers.runtime.layout import Arenas, WeightLayout
    from cactus_actors.workers.runtime.transformer import TransformerModel

    graph = build_graph(family_named(config.family), config)
    layout = WeightLayout.for_weights(graph, weights)
    arenas = Arenas.empty(layout)
    pack(graph, layout, tensors, arenas)
    return TransformerModel(config, graph, layout, arenas, threads=threads, kv_format=cache_format(kv_cache, weights))


def random_model(
    spec: str, *, weights: WeightFormat, threads: int, seed: int = 0, kv_cache: CacheFormat = "auto"
) -> Model:
    """A model with random weights of the shape that `spec` describes (see `parse_random_spec`)."""
    from cactus_actors.workers.loading.random_weights import parse_random_spec, random_tensors

    config = parse_random_spec(spec)
    tensors = random_tensors(config, seed)
    return model_from_tensors(config, tensors, weights=weights, threads=threads, kv_cache=kv_cache)

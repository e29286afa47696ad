"""Reads a model's family, config and weights from a safetensors directory or a GGUF file."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.checked_files import invalid, read_json_object
from cactus_actors.models.gguf_file import GGUFFile, open_gguf
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.families.family import Family, build_graph, unchanged
from cactus_actors.workers.families.registry import check_model_type, family_of_architectures, family_of_gguf
from cactus_actors.workers.loading.expert_stacks import expert_tensors, is_transposed, stack_of
from cactus_actors.workers.loading.mmproj_tensors import read_encoder
from cactus_actors.workers.loading.safetensors_file import SafetensorsTensor, open_safetensors
from cactus_actors.workers.loading.tensor_source import Read, StoredTensor, TensorSource
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.experts_config import STACK
from cactus_actors.workers.spec.model_config import Layer, ModelConfig

INDEX_NAME = "model.safetensors.index.json"
MAX_SHARDS = 1000
PARTS_FOR_IMAGES = ("vision_tower.", "multi_modal_projector.", "embed_vision.", "visual.")
HEAD, EMBEDDING = "lm_head", "embed_tokens"
IN_LAYER = r"((?:mtp\.)?layers\.\d+\.)(.+)"
"""A name in a layer of the model, or of its head for drafts."""

_log = logging.getLogger(__name__)


class ModelFiles(NamedTuple):
    """A model described by its files; the tensors are those of the graph and are read lazily."""

    family: Family
    config: ModelConfig
    graph: Graph
    tensors: TensorSource


def read_model(path: Path, mmproj: Path | None = None, *, drafts: bool = False) -> ModelFiles:
    """The model in `path`, a directory or a GGUF file, with lazy float32 weights.

    `mmproj` is the file of a GGUF model's encoder of pictures. With `drafts` the model has its head for drafts.

    Raises ModelFileInvalid, which names the file, unless it has exactly the tensors of the graph, and
    ConfigurationInvalid for a model without that head.
    """
    return _read_gguf(path, mmproj, drafts) if path.is_file() else _read_directory(path, drafts)


def _read_directory(directory: Path, drafts: bool) -> ModelFiles:
    config_path = directory / "config.json"
    values = read_json_object(config_path)
    family = family_of_architectures(config_path, values.get("architectures"))
    check_model_type(config_path, family, values.get("model_type"))
    keys = ConfigKeys(config_path, values)
    config = family.read_json(keys)
    if drafts:
        config = _with_draft_layer(directory, family, config, keys)
    places: dict[str, SafetensorsTensor] = {}
    stacks: dict[str, SafetensorsTensor] = {}
    for shard in (open_safetensors(path) for path in _shard_paths(directory)):
        for stored_name in shard.tensors:
            unused = _unused(family, config)
            name = _name_of_hugging_face(stored_name, unused)
            if name is None:
                continue
            tensor = SafetensorsTensor(shard, stored_name)
            is_stack = stack_of(family, name) is not None or is_transposed(family, config, name, tensor.shape)
            for part, place in [(name, tensor)] if is_stack else _parts(tensor, name, family):
                if part in places or part in stacks:
                    raise invalid(shard.path, f"tensor {stored_name!r} is also in another file")
                (stacks if is_stack else places)[part] = place
    if config.tie_embeddings and HEAD in places and EMBEDDING not in places:
        places[EMBEDDING] = places.pop(HEAD)  # one matrix under either name
    if config.tie_embeddings and HEAD in places:
        if places[HEAD].is_copy_of(places[EMBEDDING]):
            del places[HEAD]
        else:  # transformers uses it as well
            _log.warning("%s: tie_word_embeddings is true, but lm_head.weight is another matrix", config_path)
            config = replace(config, tie_embeddings=False)
    stored = {
        name: StoredTensor(place.file.path, place.name, place.shape, place.read, place.read_rows)
        for name, place in places.items()
    }
    if config.experts is not None:
        stored |= dict(expert_tensors(family, config.experts, stacks))
    return _complete(directory, family, config, stored)


def _with_draft_layer(path: Path, family: Family, config: ModelConfig, keys: ConfigKeys) -> ModelConfig:
    """The config with the layer of the head for drafts; raises ConfigurationInvalid if the model has none."""
    if family.draft_head is None or not family.draft_head.num_layers(keys):
        raise _no_draft_head(path)
    return replace(config, draft_layer=Layer(has_experts=config.layers[-1].has_experts))


def _no_draft_head(path: Path) -> ConfigurationInvalid:
    return ConfigurationInvalid(
        f"{path} has no head for drafts (MTP): speculation takes drafts from the text (a number), or none",
        param="speculation",
    )


def _unused(family: Family, config: ModelConfig) -> tuple[str, ...]:
    """Beginnings of names of tensors that the files may have and this model does not need."""
    unused = family.unused if config.vision else PARTS_FOR_IMAGES + family.unused
    if config.draft_layer is None or family.draft_head is None:
        return unused
    return tuple(prefix for prefix in unused if prefix != family.draft_head.prefix)


def _read_gguf(path: Path, mmproj: Path | None, drafts: bool) -> ModelFiles:
    file = open_gguf(path)
    family = family_of_gguf(path, file.metadata)
    prefix = f"{file.metadata['general.architecture']}."
    keys = ConfigKeys(path, file.metadata, prefix)
    config = family.read_gguf(keys, file)
    if drafts:
        config = _with_draft_layer(path, family, config, keys)
    # Layers for drafts come after those of the config.
    spare_layers = range(config.num_layers, keys.integer("block_count", "num_layers"))
    unused = tuple(f"blk.{index}." for index in spare_layers) if config.draft_layer is None else ()
    after = f"layers.{config.num_layers}."
    stored: dict[str, StoredTensor] = {}
    for stored_name, info in file.tensors.items():
        name = _name_of_gguf(stored_name, family.gguf_names)
        if name is None or stored_name.startswith(unused):
            continue
        if family.draft_head is not None and config.draft_layer is not None and name.startswith(after):
            name = family.draft_head.name_of(name.removeprefix(after))
        if name in stored:
            raise invalid(path, f"tensor {stored_name!r} is present twice, under two names")
        parts = _stack_of(name, family, len(info.shape))
        if not parts:
            read = partial(_read_gguf_tensor, file, stored_name, family, config, name)
            read_rows = partial(file.read_rows, stored_name) if family.adjust_gguf is unchanged else None
            stored[name] = StoredTensor(path, stored_name, info.shape, read, read_rows)
            continue
        num_stacked = _num_stacked(config, name)
        num_dims, kind = (2, "biases") if name.endswith(".bias") else (3, "matrices")
        if len(info.shape) != num_dims or info.shape[0] != num_stacked or info.shape[1] % len(parts):
            raise invalid(path, f"tensor {stored_name!r} has the shape {list(info.shape)}, not {num_stacked} {kind}")
        shape = (info.shape[1] // len(parts), *info.shape[2:])
        for index, (number, part) in product(range(num_stacked), enumerate(parts)):
            read = partial(_read_gguf_entry, file, stored_name, index, number * shape[0], shape[0])
            stored[part.replace(STACK, f".{index}.").removesuffix(".")] = StoredTensor(path, stored_name, shape, read)
    if mmproj is not None:
        family, config, encoder = read_encoder(mmproj, file, config)
        stored |= encoder
    return _complete(path, family, config, stored, mmproj)


def _read_gguf_tensor(
    file: GGUFFile, stored_name: str, family: Family, config: ModelConfig, name: str
) -> NDArray[np.float32]:
    return family.adjust_gguf(config, name, file.read_tensor(stored_name))


def _read_gguf_entry(file: GGUFFile, stored_name: str, index: int, first: int, num_rows: int) -> NDArray[np.float32]:
    """Some rows of one expert of a stack."""
    return file.read_entry(stored_name, index)[first : first + num_rows]


def _complete(
    path: Path, family: Family, config: ModelConfig, stored: Mapping[str, StoredTensor], mmproj: Path | None = None
) -> ModelFiles:
    stored = {name: tensor for name, tensor in stored.items() if not family.ignores(config, name)}
    head = family.draft_head
    if head is not None and config.draft_layer is not None and not any(name.startswith(head.prefix) for name in stored):
        raise _no_draft_head(path)
    _check_size(path, config, len(stored))
    graph = build_graph(family, config)
    expected = graph.tensor_shapes
    if missing := [name for name in expected if name not in stored]:
        encoder = {} if mmproj is None or graph.encoder is None else graph.encoder.tensor_shapes
        place = mmproj if mmproj is not None and missing[0] in encoder else path
        raise invalid(place, f"{len(missing)} tensors are missing, the first is {missing[0]!r}")
    if unexpected := [tensor for name, tensor in stored.items() if name not in expected]:
        surplus = unexpected[0]
        model = f"family {family.name}, {config.num_layers} layers"
        others = f", the first of {len(unexpected)} such tensors" if len(unexpected) > 1 else ""
        raise invalid(surplus.path, f"tensor {surplus.name!r} is not part of this model ({model}){others}")
    tensors: dict[str, StoredTensor] = {}
    for name, shape in expected.items():
        tensor = stored[name]
        if _without_ones(tensor.shape) != _without_ones(shape):
            found = f"tensor {tensor.name!r} has the shape {list(tensor.shape)}"
            raise invalid(tensor.path, f"{found}, the config asks for {list(shape)}")
        tensors[name] = tensor._replace(shape=shape, read=partial(_reshaped, tensor.read, shape))
    return ModelFiles(family, config, graph, TensorSource(tensors))


def _check_size(path: Path, config: ModelConfig, num_tensors: int) -> None:
    """Refuse more layers and experts than tensors, before a graph is built for absurd numbers."""
    num_experts = config.experts.num_experts if config.experts else 1
    num_parts = sum(num_experts if layer.has_experts else 1 for layer in config.layers)
    if num_parts > num_tensors:
        experts = f" and {num_experts} experts" if config.experts else ""
        raise invalid(path, f"{num_tensors} tensors are too few for {config.num_layers} layers{experts}")


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The kernels of convolutions are kept with an axis of one channel."""
    return tuple(extent for extent in shape if extent != 1)


def _reshaped(read: Read, shape: tuple[int, ...]) -> NDArray[np.float32]:
    return read().reshape(shape)


def _shard_paths(directory: Path) -> list[Path]:
    index_path = directory / INDEX_NAME
    if not index_path.is_file():
        return [_inside(directory, "model.safetensors")]
    weight_map = read_json_object(index_path).get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
        raise invalid(index_path, "weight_map must map tensor names to file names")
    names = sorted(set(weight_map.values()))
    if not 1 <= len(names) <= MAX_SHARDS:
        raise invalid(index_path, f"weight_map names {len(names)} files (1 to {MAX_SHARDS} allowed)")
    return [_inside(directory, name) for name in names]


def _inside(directory: Path, name: str) -> Path:
    """The file `name` of the model directory; names and links that lead out of it are refused."""
    if Path(name).name != name or not name.endswith(".safetensors"):
        raise invalid(directory / INDEX_NAME, f"{name!r} is not the name of a safetensors file next to it")
    path = directory / name
    try:
        target, root = path.resolve(strict=True), directory.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise invalid(path, "this file of the model is missing") from error
    # The Hugging Face cache keeps a snapshot as links into the blobs next to it.
    blobs = root.parent.parent / "blobs" if root.parent.name == "snapshots" else root
    if not (target.is_relative_to(root) or target.is_relative_to(blobs)) or not target.is_file():
        raise invalid(path, "leads out of the model directory")
    return path


def _parts(tensor: SafetensorsTensor, name: str, family: Family) -> Iterator[tuple[str, SafetensorsTensor]]:
    """The matrices that a tensor holds below each other, with their names; a stack holds those of each expert."""
    match = re.fullmatch(IN_LAYER, name)
    names = family.stacked_names.get(match[2]) if match else None
    if match is None or names is None:
        yield name, tensor
        return
    entries = enumerate(tensor.rows()) if len(tensor.shape) == 3 else [(None, tensor)]
    for index, entry in entries:
        for part, matrix in zip(names, entry.split(len(names)), strict=True):
            yield match[1] + part.replace(STACK, f".{index}."), matrix


def _name_of_hugging_face(stored: str, unused: tuple[str, ...]) -> str | None:
    """The canonical name of a tensor; None for derived tensors and for those whose names begin like `unused`."""
    name = stored
    for wrapper in ("model.", "language_model.", "text_model.", "model."):
        name = name.removeprefix(wrapper)
    name = name.replace("vision_tower.vision_model.", "vision_tower.")  # in older files
    if name.endswith("rotary_emb.inv_freq") or name.startswith(unused):
        return None
    return name.removesuffix(".weight")


def _num_stacked(config: ModelConfig, name: str) -> int:
    """The matrices in a stack: one for each expert of a layer, or for each residual stream but the first."""
    if "layers." in name:
        return config.experts.num_experts if config.experts else 0
    return config.streams.num_streams - 1 if config.streams else 0


def _stack_of(name: str, family: Family, num_axes: int) -> tuple[str, ...]:
    """The matrices of each entry of a stack, with STACK in the place of its index; none in other tensors."""
    if STACK in name:
        return (name,)
    match = re.fullmatch(IN_LAYER, name)
    if match is None or num_axes != 3:
        return ()
    return tuple(f"{match[1]}{part}" for part in family.stacked_names.get(match[2], ()))


def _name_of_gguf(stored: str, names: Mapping[str, str]) -> str | None:
    """The canonical name of a tensor; None for tensors that belong to the config.

    A stack of experts (`ffn_gate_exps`) keeps STACK in its name; in older files each expert has a tensor
    (`ffn_gate.3`). A name of `names` may have the suffix `.bias`, if it is not the bias of a projection there.
    """
    if stored.startswith("rope_"):
        return None
    match = re.fullmatch(r"(?:blk\.(\d+)\.)?([a-z0-9_.]+?)(?:\.(\d+))?(?:\.(weight|bias))?", stored)
    if match is None:
        return stored
    layer, part, expert, kind = match.groups()
    if f"{part}.{kind}" in names:  # under a name of its own
        return f"layers.{layer}.{names[f'{part}.{kind}']}"
    name = names.get(part if expert is None else f"{part}.*")
    if name is None:
        return stored
    if expert is not None:
        name = name.replace(STACK, f".{expert}.")
    return f"{f'layers.{layer}.' if layer else ''}{name}{'.bias' if kind == 'bias' else ''}"

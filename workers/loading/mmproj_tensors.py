"""The tensors of an encoder of pictures in its GGUF file (mmproj)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.models.mmproj_file import MmprojFile, open_mmproj
from cactus_actors.workers.families.family import Family
from cactus_actors.workers.families.mmproj_reader import Composed, MmprojReader
from cactus_actors.workers.families.registry import family_of_projector
from cactus_actors.workers.loading.tensor_source import StoredTensor
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.vision_config import VisionConfig

SOUND = ("a.", "mm.a.")
"""Beginnings of the names of tensors of encoders of sound, which are not used."""


class ReadEncoder(NamedTuple):
    """The family and config of a text model with an encoder, and the encoder's tensors by canonical names."""

    family: Family
    config: ModelConfig
    stored: dict[str, StoredTensor]


def read_encoder(path: Path, text: GGUFFile, config: ModelConfig) -> ReadEncoder:
    """The encoder in `path` for a text model; raises ModelFileInvalid with the file and the key."""
    mmproj = open_mmproj(path, text)
    family, reader = family_of_projector(mmproj.projector, str(text.metadata["general.architecture"]))
    vision = reader.read(ConfigKeys(path, mmproj.file.metadata, "clip.vision."), mmproj)
    stored = dict(_tensors(mmproj, reader, vision))
    return ReadEncoder(family, replace(reader.join(config, vision, mmproj), family=family.name), stored)


def _tensors(mmproj: MmprojFile, reader: MmprojReader, vision: VisionConfig) -> Iterator[tuple[str, StoredTensor]]:
    file = mmproj.file
    composed = {part for each in reader.composed.values() for part in each.parts}
    has_swapped_names = _has_swapped_names(file, vision)
    seen: set[str] = set()
    for stored_name, info in file.tensors.items():
        if stored_name.startswith(SOUND) or stored_name in composed:
            continue
        name = reader.name_of(_swapped(stored_name) if has_swapped_names else stored_name, vision)
        if name in seen:
            raise invalid(file.path, f"tensor {stored_name!r} is present twice, under two names")
        seen.add(name)
        yield name, StoredTensor(file.path, stored_name, info.shape, partial(file.read_tensor, stored_name))
    for name, parts in reader.composed.items():
        for part in parts.parts:
            _check_shape(file, part, parts.part_shape(vision))
        yield name, StoredTensor(file.path, parts.parts[0], parts.shape(vision), partial(_read, file, parts, vision))


def _has_swapped_names(file: GGUFFile, vision: VisionConfig) -> bool:
    """True for a file of an older converter, which exchanged the names of the two matrices of a network."""
    down = file.tensors.get("v.blk.0.ffn_down.weight")
    return down is not None and down.shape == (vision.ffn_size, vision.hidden_size) != down.shape[::-1]


def _swapped(name: str) -> str:
    for one, other in (("ffn_up", "ffn_down"), ("ffn_down", "ffn_up")):
        if f".{one}." in name:
            return name.replace(one, other)
    return name


def _check_shape(file: GGUFFile, name: str, shape: tuple[int, ...]) -> None:
    info = file.tensors.get(name)
    if info is None:
        raise invalid(file.path, f"tensor {name!r} is missing")
    if info.shape != shape:
        raise invalid(file.path, f"tensor {name!r} has the shape {list(info.shape)}, its keys ask for {list(shape)}")


def _read(file: GGUFFile, composed: Composed, vision: VisionConfig) -> NDArray[np.float32]:
    return composed.compose(vision, *(file.read_tensor(part) for part in composed.parts))

"""The table of model families; importing it needs neither numba nor a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.mmproj_file import ARCHITECTURE
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.protocol.similar_name import similar_name
from cactus_actors.workers.families import (
    exaone4,
    gemma2,
    gemma3,
    gemma3n,
    gemma4,
    gpt_oss,
    granite,
    granite4,
    granite_moe,
    lfm2,
    lfm2_moe,
    lfm2_vl,
    lfm3,
    lfm3_vl,
    llama,
    ministral3,
    mistral,
    mixtral,
    olmo,
    phi3,
    qwen2,
    qwen3,
    qwen3_5,
    qwen3_5_moe,
    qwen3_moe,
    qwen3_vl,
    qwen3_vl_moe,
    smollm3,
    smolvlm,
)
from cactus_actors.workers.families.family import Family
from cactus_actors.workers.families.mmproj_reader import MmprojReader

FAMILIES: tuple[Family, ...] = (
    llama.FAMILY,
    mistral.FAMILY,
    ministral3.FAMILY,
    qwen2.FAMILY,
    qwen3.FAMILY,
    gemma2.FAMILY,
    gemma3.FAMILY,
    gemma3n.FAMILY,
    gemma4.FAMILY,
    phi3.FAMILY,
    smollm3.FAMILY,
    smolvlm.FAMILY,
    lfm2.FAMILY,
    lfm2_moe.FAMILY,
    lfm2_vl.FAMILY,
    lfm3.FAMILY,
    lfm3_vl.FAMILY,
    olmo.FAMILY,
    olmo.WITH_WINDOWS,
    exaone4.FAMILY,
    granite.FAMILY,
    granite_moe.FAMILY,
    granite4.FAMILY,
    gpt_oss.FAMILY,
    mixtral.FAMILY,
    qwen3_moe.FAMILY,
    qwen3_vl.FAMILY,
    qwen3_vl_moe.FAMILY,
    qwen3_5.FAMILY,
    qwen3_5_moe.FAMILY,
)


def family_of_architectures(path: Path, architectures: object) -> Family:
    """The family of the `architectures` in a config.json; raises ModelFileInvalid."""
    if isinstance(architectures, list):
        for family in FAMILIES:
            if any(name in architectures for name in family.architectures):
                return family
    names = [name for family in FAMILIES for name in family.architectures]
    raise _unsupported(path, f"architectures is {architectures!r:.100}", architectures, names)


def check_model_type(path: Path, family: Family, model_type: object) -> None:
    """Refuse a config.json whose `model_type`, the name used by transformers, is that of another family."""
    others = [other for other in FAMILIES if other is not family and model_type in other.model_types]
    if others:
        architectures = " or ".join(family.architectures)
        raise invalid(path, f"model_type is {model_type!r}, but architectures has {architectures}")


def family_of_gguf(path: Path, metadata: Mapping[str, object]) -> Family:
    """The family of `general.architecture` in a GGUF file; raises ModelFileInvalid.

    Llama and Mixtral have the same name there; the number of experts distinguishes them.
    """
    architecture = metadata.get("general.architecture")
    if not isinstance(architecture, str):
        raise invalid(path, f"general.architecture is {architecture!r:.50}, not a string")
    if architecture == ARCHITECTURE:
        raise invalid(path, "the file of an encoder (mmproj); the model is the GGUF file of the text model next to it")
    num_experts = metadata.get(f"{architecture}.expert_count", 0)
    has_experts = isinstance(num_experts, int | float) and num_experts > 0
    families = [family for family in FAMILIES if architecture in family.gguf_architectures]
    for family in sorted(families, key=lambda family: family.has_experts != has_experts):
        return family
    names = [name for family in FAMILIES for name in family.gguf_architectures]
    raise _unsupported(path, f"general.architecture is {architecture!r:.50}", [architecture], names)


def family_of_projector(projector: str, architecture: str) -> tuple[Family, MmprojReader]:
    """The family of a name in models/mmproj_file.py, and its reader.

    The text model's own family by its `general.architecture`, if it has one, else that of the vision model.
    """
    found = [(each, each.mmproj) for each in FAMILIES if each.mmproj and each.mmproj.projector == projector]
    return next((each for each in found if architecture in each[0].gguf_architectures), found[0])


def _unsupported(path: Path, what: str, given: object, names: list[str]) -> ModelFileInvalid:
    hint = similar_name(given[0], names) if isinstance(given, list) and given and isinstance(given[0], str) else ""
    return invalid(path, f"{what}, which no supported family has; see `cactus models`{hint}")


def family_named(name: str) -> Family:
    """The family that a ModelConfig names."""
    return next(family for family in FAMILIES if family.name == name)

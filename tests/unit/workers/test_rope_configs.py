"""Rotary embeddings in config.json files, and those that a family refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from cactus_actors.models.gguf_file import open_gguf
from cactus_actors.models.served_context import context_of_gguf, context_of_json
from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.rope_config import rope_from_gguf
from cactus_actors.workers.spec.rope_scaling import LinearScaling
from cactus_actors.workers.spec.rotary import Rope
from tests.support.models.family_configs import (
    DECODERS,
    FULL,
    GEMMA3,
    LFM2,
    LLAMA,
    MIXTRAL,
    PHI3,
    QWEN3_MOE,
    SHAPE,
    SLIDING,
    longrope,
    read,
)


@pytest.mark.parametrize(
    ("section", "scaling", "named"),
    [
        ("rope_scaling", {"type": "yarn", "factor": 4.0}, "rope_scaling.type"),
        ("rope_scaling", {"rope_type": "linear", "factor": 4.0}, "rope_scaling.rope_type"),
        ("rope_parameters", {"rope_type": "llama3", "factor": 4.0}, "rope_parameters.rope_type"),
        ("rope_scaling", longrope(short_factor=[1.0, 2.0, 3.0]), "config.json: short_factor has 3 factors"),
        ("rope_scaling", longrope(short_factor=[1.0], long_factor=[1.0]), "factor has 1 factors for 4 pairs"),
        ("rope_scaling", longrope(long_factor=None), "rope_scaling.long_factor"),
    ],
)
def test_phi3_refuses_other_rotary_scalings(section: str, scaling: dict[str, Any], named: str) -> None:
    with pytest.raises(ModelFileInvalid, match=named):
        read(PHI3, original_max_position_embeddings=128, **{section: scaling})


@pytest.mark.parametrize("architecture", DECODERS)
def test_older_and_newer_rope_keys_are_equivalent(architecture: str) -> None:
    if architecture == PHI3:
        scaling = longrope()
    else:
        scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}
    older = {"rope_theta": 5e5, "rope_scaling": scaling, "original_max_position_embeddings": 128}
    newer: dict[str, Any] = {"rope_parameters": {"rope_theta": 5e5, **scaling}}
    if architecture == GEMMA3:
        older["rope_local_base_freq"] = 2e4
        newer = {"rope_parameters": {FULL: newer["rope_parameters"], SLIDING: {"rope_theta": 2e4}}}
    config = read(architecture, **older)
    assert read(architecture, original_max_position_embeddings=128, **newer) == config
    assert config.ropes[0].theta == 5e5
    assert config.ropes[0].scaling is not None


WHOLE_HEADS = [architecture for architecture in (*DECODERS, LLAMA, LFM2, MIXTRAL, QWEN3_MOE) if architecture != PHI3]


@pytest.mark.parametrize("architecture", WHOLE_HEADS)
def test_families_that_rotate_whole_heads_have_no_partial_factor(architecture: str) -> None:
    assert read(architecture, partial_rotary_factor=0.5) == read(architecture)
    scaled = {"rope_type": "linear", "factor": 4.0}
    with pytest.raises(ModelFileInvalid, match="partial_rotary_factor"):
        read(architecture, partial_rotary_factor=0.5, rope_scaling=scaled)
    assert read(architecture, partial_rotary_factor=1.0, rope_scaling=scaled).ropes[0].rotary_dim == 8


@pytest.mark.parametrize("architecture", WHOLE_HEADS)
def test_longrope_is_served_within_its_original_context_in_every_family(architecture: str) -> None:
    config = read(architecture, rope_scaling=longrope(original_max_position_embeddings=128))
    assert config.max_context == 128
    assert np.allclose(
        config.ropes[0].frequencies() * [1.0, 1.5, 2.0, 3.0],
        Rope(config.ropes[0].theta, 8).frequencies(),
        rtol=1e-6,
    )


def test_older_rope_keys_override_newer_ones() -> None:
    older, newer = {"rope_type": "linear", "factor": 2.0}, {"rope_type": "linear", "factor": 8.0}
    config = read(LLAMA, rope_theta=5e5, rope_scaling=older, rope_parameters=newer | {"rope_theta": 1e6})
    assert config.ropes == (Rope(5e5, 8, LinearScaling(2.0)),)
    assert read(LLAMA, rope_scaling={}, rope_parameters=newer).ropes[0].scaling == LinearScaling(8.0)
    with pytest.raises(ModelFileInvalid, match=r"rope_scaling\.type"):
        read(GEMMA3, rope_scaling={"type": "linear", "factor": 8})
    assert read(GEMMA3, rope_scaling={"type": "linear", "factor": 1.0}) == read(GEMMA3)


def test_llama3_scaling_without_an_original_context_uses_the_whole_one() -> None:
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    whole = scaling | {"original_max_position_embeddings": SHAPE["max_position_embeddings"]}
    assert read(LLAMA, rope_scaling=scaling) == read(LLAMA, rope_scaling=whole)


@pytest.mark.parametrize("architecture", [*DECODERS, LLAMA, LFM2, MIXTRAL, QWEN3_MOE])
def test_router_and_workers_serve_the_same_context(architecture: str) -> None:
    bare = {key: value for key, value in SHAPE.items() if key != "max_position_embeddings"}
    scalings = [
        {},
        {"rope_scaling": longrope(original_max_position_embeddings=128)},
        {"rope_scaling": longrope()},
    ]
    for scaling in scalings:
        for original in ({}, {"original_max_position_embeddings": 96}):
            for shape in (SHAPE, bare):
                values = {**shape, **scaling, **original}
                told = context_of_json({"architectures": [architecture], **values})
                if architecture != GEMMA3 or not scaling:  # its scaling is for layers with full attention
                    assert told == read(architecture, values).max_context, values


def test_a_gguf_file_with_longrope_is_served_within_its_short_context(tmp_path: Path) -> None:
    def write(long: list[float]) -> tuple[str, Any]:
        writer = gguf.GGUFWriter(tmp_path / "m.gguf", "phi3")
        writer.add_context_length(131_072)
        writer.add_rope_scaling_orig_ctx_len(4_096)
        writer.add_tensor("rope_factors_short.weight", np.array([1.0, 1.5], np.float32))
        writer.add_tensor("rope_factors_long.weight", np.array(long, np.float32))
        for write_part in (
            writer.write_header_to_file,
            writer.write_kv_data_to_file,
            writer.write_tensors_to_file,
        ):
            write_part()
        writer.close()
        file = open_gguf(tmp_path / "m.gguf")
        key, context = context_of_gguf(file)
        rope = rope_from_gguf(ConfigKeys(file.path, file.metadata, "phi3."), file, 4)
        assert context == min(131_072, rope.original_context or 131_072)
        return key, context

    assert write([1.0, 4.0]) == ("phi3.context_length", 4_096)
    assert write([1.0, 1.5]) == ("phi3.context_length", 131_072)

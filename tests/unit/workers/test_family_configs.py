"""The keys of a config.json or GGUF metadata that each family reads, and those that it refuses by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.gemma2 import scale_from_gguf
from cactus_actors.workers.families.registry import FAMILIES, family_of_architectures, family_of_gguf
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.rope_scaling import LinearScaling
from cactus_actors.workers.spec.rotary import Rope
from cactus_actors.workers.spec.sliding_window import window_from_gguf, windows_from_gguf
from tests.support.models.family_configs import (
    DECODERS,
    FULL,
    GEMMA2,
    GEMMA3,
    GEMMA3_IMAGES,
    LLAMA,
    MISTRAL,
    PHI3,
    QWEN2,
    QWEN3,
    SHAPE,
    SLIDING,
    SMOLLM3,
    longrope,
    read,
)
from tests.support.text.documents import page

SHARD = "model.safetensors"
NO_WINDOW = [0, 0, 0, 0]


def windows(config: ModelConfig) -> list[int]:
    return [layer.window for layer in config.layers]


@pytest.mark.parametrize("architecture", DECODERS)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("quantization_config", {"quant_method": "gptq"}),
        ("auto_map", {"AutoModelForCausalLM": "modeling_own.OwnForCausalLM"}),
        ("num_key_value_heads", 3),
        ("head_dim", 7),
        ("rope_scaling", {"rope_type": "dynamic", "factor": 2.0}),
        ("rope_theta", "1e6"),
        ("partial_rotary_factor", 1.5),
        ("max_position_embeddings", 0),
    ],
)
def test_keys_unsupported_by_every_family_are_refused(architecture: str, key: str, value: Any) -> None:
    named = "rope_type" if key == "rope_scaling" else key
    with pytest.raises(ModelFileInvalid, match=named):
        read(architecture, **{key: value})


@pytest.mark.parametrize(
    ("architecture", "key", "value"),
    [
        (MISTRAL, "hidden_act", "gelu"),
        (MISTRAL, "attention_bias", True),
        (MISTRAL, "layer_types", [SLIDING] * 4),
        (MISTRAL, "sliding_window", -1),
        (MISTRAL, "rope_parameters", {FULL: {"rope_theta": 1e4}}),
        (QWEN2, "hidden_act", "gelu"),
        (QWEN2, "use_mrope", True),
        (QWEN2, "dual_chunk_attention_config", {"chunk_size": 8192}),
        (QWEN2, "use_sliding_window", "yes"),
        (QWEN2, "layer_types", [FULL] * 3),
        (QWEN2, "layer_types", [FULL, FULL, FULL, "chunked_attention"]),
        (QWEN2, "layer_types", FULL),
        (QWEN3, "hidden_act", "relu"),
        (QWEN3, "use_mrope", True),
        (QWEN3, "attention_bias", 1),
        (QWEN3, "layer_types", [FULL] * 5),
        (GEMMA2, "hidden_activation", "gelu"),
        (GEMMA2, "use_bidirectional_attention", True),
        (GEMMA2, "query_pre_attn_scalar", 0),
        (GEMMA2, "attn_logit_softcapping", -1.0),
        (GEMMA2, "final_logit_softcapping", "30"),
        (GEMMA2, "layer_types", [FULL, SLIDING, FULL]),
        (GEMMA2, "sliding_window", None),
        (GEMMA3, "hidden_activation", "silu"),
        (GEMMA3, "use_bidirectional_attention", True),
        (GEMMA3, "attn_logit_softcapping", 50.0),
        (GEMMA3, "sliding_window_pattern", 0),
        (GEMMA3, "sliding_window", None),
        (GEMMA3, "rope_local_base_freq", 0.5),
        (GEMMA3, "rope_parameters", {"rope_theta": 1e6, "rope_type": "default"}),
        (PHI3, "hidden_act", "gelu"),
        (PHI3, "attention_bias", True),
        (PHI3, "mlp_bias", True),
        (PHI3, "lm_head_bias", True),
        (PHI3, "full_attn_mod", 2),
        (PHI3, "interpolate_factor", 4),
        (PHI3, "auto_map", {"AutoModelForCausalLM": "modeling_phi4mm.Phi4MMForCausalLM"}),
        (SMOLLM3, "hidden_act", "gelu"),
        (SMOLLM3, "no_rope_layers", [1, 1, 1]),
        (SMOLLM3, "no_rope_layers", [1, 1, 1, 2]),
        (SMOLLM3, "no_rope_layers", "1110"),
        (SMOLLM3, "no_rope_layer_interval", 0),
        (SMOLLM3, "mlp_bias", "no"),
        (GEMMA3_IMAGES, "quantization_config", {"quant_method": "awq"}),
        (GEMMA3_IMAGES, "text_config", []),
    ],
)
def test_an_unsupported_key_is_named(architecture: str, key: str, value: Any) -> None:
    with pytest.raises(ModelFileInvalid, match=key):
        read(architecture, **{key: value})


def test_mistral_has_one_window_for_all_layers() -> None:
    assert windows(read(MISTRAL, sliding_window=33)) == [33] * 4
    assert windows(read(MISTRAL, sliding_window=None)) == NO_WINDOW
    assert windows(read(MISTRAL)) == [4096] * 4  # the reference's defaults for files of the first version


@pytest.mark.parametrize("architecture", [QWEN2, QWEN3])
def test_qwen_has_windows_from_the_configured_layer_on(architecture: str) -> None:
    given = {"sliding_window": 9, "max_window_layers": 3}
    assert windows(read(architecture, **given)) == NO_WINDOW
    assert windows(read(architecture, use_sliding_window=True, **given)) == [0, 0, 0, 9]
    types = [SLIDING, FULL, FULL, SLIDING]
    assert windows(read(architecture, use_sliding_window=True, layer_types=types, **given)) == [9, 0, 0, 9]
    with pytest.raises(ModelFileInvalid, match="sliding_window"):
        read(architecture, layer_types=types, **given)


def test_biases_of_the_qwen_families_are_read() -> None:
    assert (read(QWEN2).attention_bias, read(QWEN2).output_bias) == (True, False)
    assert (read(QWEN3).attention_bias, read(QWEN3).output_bias) == (False, False)
    biased = read(QWEN3, attention_bias=True)
    assert (biased.attention_bias, biased.output_bias) == (True, True)


def test_gemma2_has_the_defaults_of_its_class_and_null_disables() -> None:
    config = read(GEMMA2)
    assert (config.attention_softcap, config.logit_softcap, config.attention_scale) == (50.0, 30.0, 1 / 16)
    assert config.tie_embeddings
    assert windows(config) == [4096, 0, 4096, 0]
    assert read(GEMMA2, attn_logit_softcapping=None).attention_softcap == 0
    assert windows(read(GEMMA2, sliding_window=5, layer_types=[FULL, FULL, SLIDING, FULL])) == [0, 0, 5, 0]


def test_gemma3_has_a_rope_for_each_kind_of_layer() -> None:
    config = read(GEMMA3, sliding_window=5, sliding_window_pattern=2, rope_scaling={"rope_type": "linear", "factor": 8})
    assert windows(config) == [5, 0, 5, 0]
    assert [layer.rope for layer in config.layers] == [1, 0, 1, 0]
    assert config.ropes == (Rope(1e6, 8, LinearScaling(8.0)), Rope(1e4, 8))


def test_the_text_config_of_gemma3_is_read_from_its_section() -> None:
    text = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}
    config = read(GEMMA3_IMAGES, {"text_config": text, "vision_config": {"hidden_size": 1152}})
    assert (config.vocab_size, config.num_heads, config.num_kv_heads, config.head_dim) == (262208, 8, 4, 256)
    assert windows(config)[4:7] == [1024, 0, 1024]


def test_image_tensors_are_not_read(tmp_path: Path) -> None:
    values = {"architectures": [GEMMA3_IMAGES], "text_config": SHAPE, "vision_config": {}}
    (tmp_path / "config.json").write_text(json.dumps(values))
    shapes = build_graph(family_of_architectures(tmp_path, [GEMMA3_IMAGES]), read(GEMMA3)).tensor_shapes
    tensors = {f"language_model.model.{name}.weight": np.ones(shape, np.float32) for name, shape in shapes.items()}
    for name in ("vision_tower.vision_model.embeddings.patch_embedding", "multi_modal_projector.norm"):
        tensors[f"{name}.weight"] = np.ones((3, 2), np.float32)
    save_file(tensors, tmp_path / "model.safetensors")
    assert read_model(tmp_path).tensors.keys() == shapes.keys()


def test_a_model_with_images_has_no_soft_cap() -> None:
    assert read(GEMMA3, final_logit_softcapping=30.0).logit_softcap == 30.0
    config = read(GEMMA3_IMAGES, {"text_config": SHAPE | {"final_logit_softcapping": 30.0}})
    assert config.logit_softcap == 0.0


def test_the_tied_flag_of_a_model_with_images_is_outside_its_text_config() -> None:
    untied = SHAPE | {"tie_word_embeddings": False}
    assert read(GEMMA3_IMAGES, {"text_config": untied}).tie_embeddings
    assert not read(GEMMA3_IMAGES, {"text_config": SHAPE, "tie_word_embeddings": False}).tie_embeddings


@pytest.mark.parametrize("differs", [False, True])
def test_an_output_matrix_beside_a_tied_embedding_is_used_if_it_differs(tmp_path: Path, differs: bool) -> None:
    values = {"architectures": [LLAMA], "tie_word_embeddings": True} | SHAPE
    (tmp_path / "config.json").write_text(json.dumps(values))
    graph = build_graph(family_of_architectures(tmp_path, [LLAMA]), read(LLAMA, tie_word_embeddings=True))
    tensors = {f"model.{name}.weight": np.ones(shape, np.float32) for name, shape in graph.tensor_shapes.items()}
    head = tensors["model.embed_tokens.weight"].copy()
    head[-1, -1] += differs
    save_file(tensors | {"lm_head.weight": head}, tmp_path / "model.safetensors")
    files = read_model(tmp_path)
    assert files.config.tie_embeddings is not differs
    assert ("lm_head" in files.tensors) is differs
    assert not differs or np.array_equal(files.tensors["lm_head"], head)


def test_phi3_with_longrope_is_served_within_its_original_context() -> None:
    config = read(PHI3, original_max_position_embeddings=128, rope_scaling=longrope())
    (rope,) = config.ropes
    assert config.max_context == 128
    assert np.allclose(rope.frequencies() * [1.0, 1.5, 2.0, 3.0], Rope(1e4, 8).frequencies(), rtol=1e-6)
    assert rope.amplitude == pytest.approx((1 + np.log(4) / np.log(128)) ** 0.5)


def test_phi3_without_context_dependent_factors_is_served_in_full() -> None:
    same = longrope(long_factor=[1.0, 1.5, 2.0, 3.0])
    assert read(PHI3, original_max_position_embeddings=128, rope_scaling=same).max_context == 512
    assert read(PHI3, original_max_position_embeddings=128).max_context == 512


def test_phi3_accepts_an_auto_map_of_its_own_code() -> None:
    code = {"AutoConfig": "configuration_phi3.Phi3Config"}
    read(PHI3, auto_map=code | {"AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM"})
    with pytest.raises(ModelFileInvalid, match="auto_map"):
        read(PHI3, auto_map=code)


def test_part_of_a_head_may_be_rotated() -> None:
    assert read(PHI3, partial_rotary_factor=0.75).ropes[0].rotary_dim == 6
    with pytest.raises(ModelFileInvalid, match="partial_rotary_factor"):
        read(PHI3, partial_rotary_factor=0.4)  # three pairs of dimensions


@pytest.mark.parametrize(("named", "is_read"), [("llama", True), ("own", True), ("mistral", False), ([], True)])
def test_the_model_type_of_another_family_is_refused(tmp_path: Path, named: Any, is_read: bool) -> None:
    values = {"architectures": [LLAMA], "model_type": named, "tie_word_embeddings": True} | SHAPE
    (tmp_path / "config.json").write_text(json.dumps(values))
    graph = build_graph(family_of_architectures(tmp_path, [LLAMA]), read(LLAMA, tie_word_embeddings=True))
    shapes = graph.tensor_shapes.items()
    save_file({f"model.{name}.weight": np.ones(shape, np.float32) for name, shape in shapes}, tmp_path / SHARD)
    if is_read:
        assert read_model(tmp_path).family.name == "Llama"
    else:
        with pytest.raises(ModelFileInvalid, match="model_type is 'mistral'"):
            read_model(tmp_path)


def test_smollm3_omits_the_rope_in_the_configured_layers() -> None:
    assert [layer.rope for layer in read(SMOLLM3).layers] == [0, 0, 0, None]
    config = read(SMOLLM3, no_rope_layers=[0, 1, 1, 0], use_sliding_window=True, sliding_window=7)
    assert [layer.rope for layer in config.layers] == [None, 0, 0, None]
    assert windows(config) == [7, 0, 0, 7]
    assert config.ropes == (Rope(2e6, 8),)
    assert windows(read(SMOLLM3, no_rope_layers=[0, 1, 1, 0], sliding_window=7)) == NO_WINDOW


def gguf_keys(**metadata: Any) -> ConfigKeys:
    given = {"block_count": 4, "embedding_length": 72, "attention.head_count": 4} | metadata
    return ConfigKeys(Path("model.gguf"), {f"gemma3.{key}": value for key, value in given.items()}, "gemma3.")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (None, [9, 0, 9, 0]),
        (3, [9, 9, 0, 9]),
        (1, NO_WINDOW),
        ([True, False, False, True], [9, 0, 0, 9]),
        (np.array([True, False, False, True]), [9, 0, 0, 9]),
    ],
)
def test_windows_are_read_from_gguf_files(pattern: Any, expected: list[int]) -> None:
    keys = gguf_keys(**{"attention.sliding_window": 9, "attention.sliding_window_pattern": pattern})
    assert windows_from_gguf(keys, window_from_gguf(keys), period=2) == expected


@pytest.mark.parametrize("architecture", [None, "unknown", 7, np.array([1, 2]), ["llama"]])
def test_other_architectures_of_gguf_files_are_refused(architecture: Any) -> None:
    with pytest.raises(ModelFileInvalid, match=r"general\.architecture"):
        family_of_gguf(Path("model.gguf"), {"general.architecture": architecture})


@pytest.mark.parametrize("pattern", [0, [True], [1, 0, 2, 0], "all"])
def test_other_patterns_of_windows_are_refused(pattern: Any) -> None:
    with pytest.raises(ModelFileInvalid, match=r"gemma3\.attention\.sliding_window_pattern"):
        windows_from_gguf(gguf_keys(**{"attention.sliding_window_pattern": pattern}), 9, period=2)


def test_the_query_scale_is_read_from_gguf_files() -> None:
    assert scale_from_gguf(gguf_keys(), largest_num_layers=62) is None
    assert scale_from_gguf(gguf_keys(), largest_num_layers=4) == pytest.approx(18**-0.5)
    assert scale_from_gguf(gguf_keys(**{"attention.scale": 0.25}), largest_num_layers=4) == 0.25


def test_names_of_families_and_architectures_are_unique() -> None:
    names = [family.name for family in FAMILIES]
    architectures = [name for family in FAMILIES for name in family.architectures]
    assert len(set(names)) == len(names)
    assert len(set(architectures)) == len(architectures)


def test_the_documentation_names_every_architecture() -> None:
    text = page("reference/models.md")
    named = [name for family in FAMILIES for name in (*family.architectures, *family.gguf_architectures)]
    assert [name for name in named if name not in text] == []

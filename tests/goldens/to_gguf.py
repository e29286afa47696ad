"""Writes a checkpoint directory as a GGUF file, with the names and orders of rows that llama.cpp expects.

Keys and tensor names are those of the `gguf` package; each architecture stores the same as llama.cpp's
converter stores (conversion/*.py in ggml-org/llama.cpp), except that the window of a Mistral is not left
out. The vocabulary is made up.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from tests.goldens.gemma_tensors import with_stacked_projections, write_gemma3n, write_gemma4
from tests.goldens.gguf_ropes import rope_parameters
from tests.goldens.gpt_oss_tensors import for_converter
from tests.goldens.recurrent_tensors import of_mamba, of_qwen35

Tensors = dict[str, NDArray[np.float32]]

ARCHITECTURES = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "llama",
    "MixtralForCausalLM": "llama",
    "SmolLM3ForCausalLM": "smollm3",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen3MoeForCausalLM": "qwen3moe",
    "Qwen3VLForConditionalGeneration": "qwen3vl",
    "Qwen3VLMoeForConditionalGeneration": "qwen3vlmoe",
    "Qwen3_5ForCausalLM": "qwen35",
    "Qwen3_5MoeForCausalLM": "qwen35moe",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3",
    "Gemma3nForCausalLM": "gemma3n",
    "Gemma4ForCausalLM": "gemma4",
    "Phi3ForCausalLM": "phi3",
    "Lfm2ForCausalLM": "lfm2",
    "Lfm2MoeForCausalLM": "lfm2moe",
    "Olmo2ForCausalLM": "olmo2",
    "Olmo3ForCausalLM": "olmo2",
    "Ministral3ForCausalLM": "mistral3",
    "Exaone4ForCausalLM": "exaone4",
    "GptOssForCausalLM": "gpt-oss",
    "GraniteForCausalLM": "granite",
    "GraniteMoeSharedForCausalLM": "granitemoe",
    "GraniteMoeHybridForCausalLM": "granite",  # without Mamba layers and experts
}
# keep the two halves of each rotated head row by row
INTERLEAVED = ("llama", "smollm3", "mistral3", "granite", "granitemoe", "granitehybrid")
HALVES = {
    "block_sparse_moe.input_linear": ("block_sparse_moe.experts.w1", "block_sparse_moe.experts.w3"),
    "mlp.input_linear": ("mlp.gate_proj", "mlp.up_proj"),
    "shared_mlp.input_linear": ("mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj"),
}
KEPT = ("ffn_gate_inp", "shortconv.conv", "ssm_conv1d")


def write_gguf(directory: Path, path: Path, matrices: str = "F32") -> Path:
    """Writes the checkpoint in `directory` to `path`, its matrices as "F32" or "F16"; returns `path`."""
    config = json.loads((directory / "config.json").read_text())
    return write_model(config, read_safetensors(directory / "model.safetensors"), path, matrices)


def write_model(
    config: dict[str, Any],
    tensors: Tensors,
    path: Path,
    matrices: str = "F32",
    write_tokens: Callable[[gguf.GGUFWriter, dict[str, Any]], None] | None = None,
) -> Path:
    """`write_gguf` of a config and tensors; `write_tokens` writes another vocabulary."""
    architecture = ARCHITECTURES[config["architectures"][0]]
    if "mamba" in config.get("layer_types", []):
        architecture = "granitehybrid"
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32 if matrices == "F32" else gguf.LlamaFileType.MOSTLY_F16)
    write_metadata(writer, config, architecture, tensors)
    (write_tokens or write_vocabulary)(writer, config)
    for name, values in stored_tensors(config, architecture, tensors):
        # llama.cpp keeps vectors, routers and convolutions in float32.
        is_vector = values.ndim == 1 or name.endswith(".bias")
        if values.dtype == np.uint8:
            writer.add_tensor(name, np.ascontiguousarray(values), raw_dtype=gguf.GGMLQuantizationType.MXFP4)
            continue
        keep = is_vector or matrices == "F32" or any(part in name for part in KEPT)
        writer.add_tensor(name, np.ascontiguousarray(values if keep else values.astype(np.float16)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def read_safetensors(path: Path) -> Tensors:
    """All tensors of a file as float32, bytes as they are; bfloat16 is the upper half of a float32."""
    content = path.read_bytes()
    header_bytes = int.from_bytes(content[:8], "little")
    tensors: Tensors = {}
    for name, info in json.loads(content[8 : 8 + header_bytes]).items():
        if name == "__metadata__":
            continue
        first, last = (8 + header_bytes + offset for offset in info["data_offsets"])
        if info["dtype"] == "U8":
            tensors[name] = np.frombuffer(content[first:last], np.uint8).reshape(info["shape"])
            continue
        if info["dtype"] == "BF16":
            values = (np.frombuffer(content[first:last], np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(content[first:last], np.dtype(f"f{2 if info['dtype'] == 'F16' else 4}"))
        tensors[name] = values.astype(np.float32).reshape(info["shape"])
    return tensors


def write_metadata(writer: gguf.GGUFWriter, config: dict[str, Any], architecture: str, tensors: Tensors) -> None:
    num_heads = config["num_attention_heads"]
    num_kv_heads = config["num_key_value_heads"]
    head_dim = config.get("head_dim", config["hidden_size"] // num_heads)
    rope = rope_parameters(config)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_head_count(num_heads)
    writer.add_layer_norm_rms_eps(config.get("rms_norm_eps", config.get("norm_eps")))
    writer.add_rope_freq_base(rope["rope_theta"])
    if "head_dim" in config and architecture != "gemma4":
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    if architecture in (*INTERLEAVED, "phi3"):
        writer.add_rope_dimension_count(int(config.get("partial_rotary_factor", 1.0) * head_dim))

    if architecture.startswith("lfm2"):
        idxs = config.get("full_attn_idxs") or [
            i for i, kind in enumerate(config["layer_types"]) if kind == "full_attention"
        ]
        kinds = [i in idxs for i in range(config["num_hidden_layers"])]
        writer.add_head_count_kv([num_kv_heads if attends else 0 for attends in kinds])
        writer.add_feed_forward_length(tensors["model.layers.0.feed_forward.w1.weight"].shape[0])
        writer.add_shortconv_l_cache(config["conv_L_cache"])
    elif architecture != "granitehybrid":
        if config.get("num_global_key_value_heads") is None:
            writer.add_head_count_kv(num_kv_heads)
        is_dense_hybrid = config["model_type"] == "granitemoehybrid"
        size_key = "shared_intermediate_size" if is_dense_hybrid else "intermediate_size"
        if size_key in config and not config.get("use_double_wide_mlp"):
            writer.add_feed_forward_length(config[size_key])
    if architecture == "granitehybrid":
        counts = [num_kv_heads * (kind == "attention") for kind in config["layer_types"]]
        writer.add_head_count_kv(counts)
        writer.add_feed_forward_length(config["intermediate_size"])
        writer.add_ssm_conv_kernel(config["mamba_d_conv"])
        writer.add_ssm_state_size(config["mamba_d_state"])
        writer.add_ssm_group_count(config["mamba_n_groups"])
        writer.add_ssm_time_step_rank(config["mamba_n_heads"])
        writer.add_ssm_inner_size(config["mamba_expand"] * config["hidden_size"])
    if architecture == "qwen35moe":
        writer.add_expert_shared_feed_forward_length(config["shared_expert_intermediate_size"])
    if architecture in ("qwen35", "qwen35moe"):
        writer.add_ssm_conv_kernel(config["linear_conv_kernel_dim"])
        writer.add_ssm_state_size(config["linear_key_head_dim"])
        writer.add_ssm_group_count(config["linear_num_key_heads"])
        writer.add_ssm_time_step_rank(config["linear_num_value_heads"])
        writer.add_ssm_inner_size(config["linear_value_head_dim"] * config["linear_num_value_heads"])
        write_kinds(writer, config, architecture)
        writer.add_rope_dimension_count(int(head_dim * rope.get("partial_rotary_factor", 0.25)))
        rope.setdefault("mrope_section", [11, 11, 10])
    if "mrope_section" in rope:
        writer.add_rope_dimension_sections([*rope["mrope_section"], 0])
    if num_experts := config.get("num_local_experts", config.get("num_experts")):
        writer.add_expert_count(num_experts)
        if architecture != "gemma4":
            writer.add_expert_used_count(config["num_experts_per_tok"])
    if architecture == "gpt-oss":
        writer.add_expert_feed_forward_length(config["intermediate_size"])
    if architecture in ("qwen3moe", "qwen3vlmoe", "lfm2moe", "qwen35moe"):
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    if (window := config.get("sliding_window")) and config.get("use_sliding_window", True):
        writer.add_sliding_window(window)
    if architecture in ("olmo2", "exaone4") and "layer_types" in config:
        writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])
    if architecture == "lfm2moe":
        writer.add_leading_dense_block_count(config["num_dense_layers"])
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if architecture.startswith("granite"):
        writer.add_attention_scale(config["attention_multiplier"])
        writer.add_embedding_scale(config["embedding_multiplier"])
        writer.add_residual_scale(config["residual_multiplier"])
        writer.add_logit_scale(config["logits_scaling"])
        writer.add_rope_scaling_finetuned(config.get("position_embedding_type", "rope") == "rope")
    if architecture in ("granitemoe", "granitehybrid") and (shared := config.get("shared_intermediate_size")):
        writer.add_expert_shared_feed_forward_length(shared)
    if architecture == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    if architecture == "gemma3n":
        write_gemma3n(writer, config)
    if architecture == "gemma4":
        write_gemma4(writer, config)
    if architecture in ("gemma3", "gemma3n") and rope["rope_local_base_freq"] != 10000:
        writer.add_rope_freq_base_swa(rope["rope_local_base_freq"])
    if rope.get("rope_type") == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    if rope.get("rope_type") == "yarn":
        write_yarn(writer, rope)
    if architecture == "phi3":
        original = config["original_max_position_embeddings"]
        writer.add_rope_scaling_orig_ctx_len(original)
        if rope.get("rope_type") == "longrope":
            factor = config["max_position_embeddings"] / original
            writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(factor) / math.log(original)))


def write_kinds(writer: gguf.GGUFWriter, config: dict[str, Any], architecture: str) -> None:
    """Which layers of Qwen3.5 are recurrent."""
    if "full_attention_interval" in config:
        writer.add_full_attention_interval(config["full_attention_interval"])
    else:
        kinds = [kind == "linear_attention" for kind in config["layer_types"]]
        writer.add_array(f"{architecture}.attention.recurrent_layers", kinds)


def write_yarn(writer: gguf.GGUFWriter, rope: dict[str, Any]) -> None:
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(rope["factor"])
    writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    writer.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
    writer.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
    if "attention_factor" in rope:
        writer.add_rope_scaling_yarn_attn_factor(rope["attention_factor"])
    if "mscale_all_dim" in rope:
        writer.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
    if "llama_4_scaling_beta" in rope:
        writer.add_attn_temperature_scale(rope["llama_4_scaling_beta"])


def write_vocabulary(writer: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    """As many tokens as the model has, without any meaning."""
    names = {0: "<unk>", config["bos_token_id"]: "<s>"}
    ends = config["eos_token_id"]
    names |= {end: f"</s{end}>" for end in (ends if isinstance(ends, list) else [ends])}
    types = dict.fromkeys(names, gguf.TokenType.CONTROL) | {0: gguf.TokenType.UNKNOWN}
    ids = range(config["vocab_size"])
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([names.get(token_id, f"token{token_id}") for token_id in ids])
    writer.add_token_scores([-float(token_id) for token_id in ids])
    writer.add_token_types([types.get(token_id, gguf.TokenType.NORMAL) for token_id in ids])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(ends[0] if isinstance(ends, list) else ends)
    writer.add_unk_token_id(0)


def stored_tensors(
    config: dict[str, Any], architecture: str, tensors: Tensors
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Names and values as stored in the file."""
    kind = next(key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
    names = gguf.get_tensor_name_map(kind, config["num_hidden_layers"])
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    if config["model_type"] == "granitemoehybrid" and not config["num_local_experts"]:
        tensors = {name.replace("shared_mlp.output_linear", "mlp.down_proj"): each for name, each in tensors.items()}
        tensors = {name.replace("shared_mlp.input_linear", "mlp.input_linear"): each for name, each in tensors.items()}
    if architecture == "gemma3n":
        tensors = with_stacked_projections(tensors)
    is_gpt_oss = architecture == "gpt-oss"
    stacked = for_converter(tensors) if is_gpt_oss else with_halves(with_stacked_experts(tensors))
    for name, values in stacked.items():
        projection = name.split(".")[-2]
        if architecture in INTERLEAVED and projection in heads:
            values = interleaved(values, heads[projection])
        if architecture in ("gemma2", "gemma3") and projection.endswith("norm"):
            values = values + np.float32(1.0)
        if projection in ("conv", "conv1d") and values.ndim == 3:
            values = values[:, 0, :]
        if projection == "feed_forward" and name.endswith("expert_bias"):
            name += ".bias"
        if architecture in ("qwen35", "qwen35moe"):
            name, values = of_qwen35(config, name, values)
        if architecture == "granitehybrid" and ".mamba." in name:
            name, values = of_mamba(name, values)
        if (scale := re.fullmatch(r"model\.layers\.(\d+)\.router\.(scale|per_expert_scale)", name)) is not None:
            part = "ffn_gate_inp" if scale[2] == "scale" else "ffn_down_exps"
            yield f"blk.{scale[1]}.{part}.scale", values
            continue
        if name.endswith((".layer_scalar", ".correct_output_scale", ".experts.gate_up_proj", ".experts.down_proj")):
            name += ".weight"
        stored_name = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert stored_name is not None, f"{architecture} has no tensor {name}"
        yield stored_name, values
    rope = rope_parameters(config)
    if architecture == "gemma4":  # pairs that do not turn are divided by a large factor
        num_pairs = config["global_head_dim"] // 2
        num_turning = int(num_pairs * rope["partial_rotary_factor"])
        yield "rope_freqs.weight", np.where(np.arange(num_pairs) < num_turning, 1, 1e30).astype(np.float32)
    if rope["rope_type"] == "llama3":
        yield "rope_freqs.weight", llama3_factors(config, rope)
    if rope["rope_type"] == "longrope":
        yield "rope_factors_long.weight", np.array(rope["long_factor"], np.float32)
        yield "rope_factors_short.weight", np.array(rope["short_factor"], np.float32)


def interleaved(values: NDArray[np.float32], num_heads: int) -> NDArray[np.float32]:
    """Rows (or biases) of each head reordered: element i of its first half, element i of its second, ..."""
    halves = values.reshape(num_heads, 2, -1, *values.shape[1:])
    return halves.swapaxes(1, 2).reshape(values.shape)


def with_halves(tensors: Tensors) -> Tensors:
    """Granite's matrices of gate and up as two tensors."""
    found: Tensors = {}
    for name, values in tensors.items():
        layer, _, part = name.removesuffix(".weight").rpartition(".layers.")[2].partition(".")
        if part not in HALVES:
            found[name] = values
            continue
        halves = np.split(values, 2, axis=-2)
        for half_name, half in zip(HALVES[part], halves, strict=True):
            found[f"model.layers.{layer}.{half_name}.weight"] = half
    return found


def with_stacked_experts(tensors: Tensors) -> Tensors:
    """The experts of a layer as one tensor (experts, outputs, inputs) for each of their projections."""
    stacked: Tensors = {}
    experts: dict[str, list[NDArray[np.float32]]] = {}
    for name in sorted(tensors, key=lambda name: [int(n) for n in re.findall(r"\.(\d+)\.", name)]):
        if re.search(r"\.experts\.\d+\.", name):
            merged = re.sub(r"\.experts\.\d+\.", ".experts.", name)
            merged = merged.removeprefix("model.").replace("block_sparse_moe", "feed_forward")
            experts.setdefault(merged if "feed_forward" in merged else f"model.{merged}", []).append(tensors[name])
        else:
            stacked[name] = tensors[name]
    return stacked | {name: np.stack(values) for name, values in experts.items()}


def llama3_factors(config: dict[str, Any], rope: dict[str, Any]) -> NDArray[np.float32]:
    """The divisor of each rotary frequency of Llama 3.1: 1 for short waves, `factor` for long ones."""
    head_dim = config.get("head_dim", config["hidden_size"] // config["num_attention_heads"])
    waves = 2 * math.pi * rope["rope_theta"] ** (np.arange(0, head_dim, 2) / head_dim)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    smooth = np.clip((rope["original_max_position_embeddings"] / waves - low) / (high - low), 0.0, 1.0)
    return (1.0 / ((1.0 - smooth) / rope["factor"] + smooth)).astype(np.float32)

"""Writes a directory that reads pictures as two GGUF files: its text model, and its encoder (mmproj).

Keys, names and orders are those of llama.cpp's converter (conversion/base.py, smolvlm.py, lfm2.py, qwen3vl.py in
ggml-org/llama.cpp): `clip.*` describes the encoder and the treatment of pictures.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import numpy as np
from numpy.typing import NDArray

from benchmarks.random_gguf import add_metadata
from tests.goldens.encoder_tensors import PARTS, Stored, gemma4_tensors, qwen_tensors, siglip_tensors
from tests.goldens.to_gguf import Tensors, read_safetensors, write_model

PROJECTORS = {
    "smolvlm": "idefics3",
    "idefics3": "idefics3",
    "lfm2_vl": "lfm2",
    "gemma3": "gemma3",
    "gemma4": "gemma4v",
    "qwen3_vl": "qwen3vl_merger",
    "qwen3_vl_moe": "qwen3vl_merger",
    "qwen3_5": "qwen3vl_merger",
    "qwen3_5_moe": "qwen3vl_merger",
}
"""`clip.projector_type` by `model_type` of config.json."""

TEXT_ARCHITECTURES = {
    "llama": "LlamaForCausalLM",
    "lfm2": "Lfm2ForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
    "gemma4_text": "Gemma4ForCausalLM",
    "qwen3_5_text": "Qwen3_5ForCausalLM",
    "qwen3_5_moe_text": "Qwen3_5MoeForCausalLM",
}
"""Classes of text models by `model_type`; Qwen3-VL has none."""

GEMMA4_DEFAULTS = {
    "rms_norm_eps": 1e-6,
    "final_logit_softcapping": None,
    "num_global_key_value_heads": None,
    "num_kv_shared_layers": 0,
    "use_double_wide_mlp": False,
    "enable_moe_block": False,
}
"""Defaults of Gemma4TextConfig of transformers for keys that the file needs."""

MERGE = ("Q", "X")
"""The only merge of the vocabularies of bytes; llama.cpp reads none without."""


class Pair(NamedTuple):
    """The files of a text model and of its encoder."""

    text: Path
    mmproj: Path


def write_pair(
    directory: Path,
    into: Path,
    *,
    matrices: str = "F32",
    changes: Mapping[str, Any] | None = None,
    text_changes: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
) -> Pair:
    """Write model.gguf and mmproj-model.gguf.

    Of the latter, `changes` replace metadata, None removes a key; `names` replace names of PARTS. `text_changes` are
    those of the former.
    """
    config = json.loads((directory / "config.json").read_text())
    tensors = read_safetensors(directory / "model.safetensors")
    if config["text_config"].get("mlp_only_layers"):
        tensors = with_experts_everywhere(tensors)
    into.mkdir(parents=True, exist_ok=True)
    pair = Pair(into / "model.gguf", into / "mmproj-model.gguf")
    write_vocabulary = vocabulary_of(directory, config)

    def write_more(writer: gguf.GGUFWriter, text: dict[str, Any]) -> None:
        write_vocabulary(writer, text)
        for key, value in (text_changes or {}).items():
            for part in writer.kv_data:
                part.pop(key, None)
            if value is not None:
                add_metadata(writer, key, value)

    write_model(text_config(config), dict(text_tensors(tensors)), pair.text, matrices, write_more)
    writer = gguf.GGUFWriter(pair.mmproj, "clip")
    for key, value in (metadata_of(directory, config) | dict(changes or {})).items():
        if value is not None:
            add_metadata(writer, key, value)
    for name, values in encoder_tensors(config, tensors, PARTS | dict(names or {})):
        keep = values.ndim == 1 or matrices == "F32" or "position" in name
        writer.add_tensor(name, np.ascontiguousarray(values if keep else values.astype(np.float16)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return pair


def encoder_tensors(config: dict[str, Any], tensors: Tensors, parts: Mapping[str, str]) -> Stored:
    """Names and values of the encoder as stored in the file."""
    vision = config["vision_config"]
    if is_qwen(config):
        return qwen_tensors(tensors, vision)
    if config["model_type"] == "gemma4":
        return gemma4_tensors(tensors, vision["patch_size"])
    return siglip_tensors(tensors, vision["patch_size"], parts)


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    """The text part as config.json of a model of text alone."""
    text = config["text_config"]
    added = {"architectures": [TEXT_ARCHITECTURES.get(text["model_type"], config["architectures"][0])]}
    if text["model_type"] == "gemma3_text":
        return {"rms_norm_eps": 1e-6, **text, **added}
    if text["model_type"] == "gemma4_text":
        return {**GEMMA4_DEFAULTS, **text, **added}
    return {**text, **added, "tie_word_embeddings": config["tie_word_embeddings"]}


def text_tensors(tensors: Tensors) -> Stored:
    for name, values in tensors.items():
        for wrapper in ("model.text_model.", "model.language_model.", "language_model.model."):
            if name.startswith(wrapper):
                yield from halves(f"model.{name.removeprefix(wrapper)}", values)
        if name.endswith("lm_head.weight"):
            yield "lm_head.weight", values


def with_experts_everywhere(tensors: Tensors) -> Tensors:
    """The experts of layer 2 in the place of the network of layer 1: in GGUF files all layers have experts."""
    network, experts = "model.language_model.layers.1.mlp.", "model.language_model.layers.2.mlp."
    others = {name: values for name, values in tensors.items() if not name.startswith(network)}
    copies = {name.replace(experts, network): each for name, each in others.items() if name.startswith(experts)}
    return others | copies


def halves(name: str, values: NDArray[np.float32]) -> Stored:
    """Experts as the converter stores them: the matrices of gate and up apart."""
    start, _, part = name.rpartition(".experts.")
    if part == "gate_up_proj":
        for half_name, half in zip(("gate_proj", "up_proj"), np.split(values, 2, axis=1), strict=True):
            yield f"{start}.experts.{half_name}.weight", half
    else:
        yield f"{name}.weight" if part == "down_proj" else name, values


def is_qwen(config: dict[str, Any]) -> bool:
    """True for the encoder of Qwen3-VL."""
    return PROJECTORS[config["model_type"]] == "qwen3vl_merger"


def tokens_of(config: dict[str, Any]) -> dict[int, str]:
    """The tokens of pictures, by id."""
    if is_qwen(config):
        first = config["text_config"]["vocab_size"] - 2  # for a checkpoint without tokens around pictures
        around = config.get("vision_start_token_id", first), config.get("vision_end_token_id", first + 1)
        return {config["image_token_id"]: "<|image_pad|>", around[0]: "<|vision_start|>", around[1]: "<|vision_end|>"}
    if config["model_type"] == "gemma4":
        keys = {"image_token_id": "<|image|>", "boi_token_id": "<|image>", "eoi_token_id": "<image|>"}
        return {config[key]: token for key, token in keys.items()}
    if config["model_type"] != "gemma3":
        return {config["image_token_id"]: "<image>"}
    keys = {"image_token_index": "<image_soft_token>", "boi_token_index": "<start_of_image>"}
    return {config[key]: token for key, token in (keys | {"eoi_token_index": "<end_of_image>"}).items()}


def vocabulary_of(directory: Path, config: dict[str, Any]) -> Callable[[gguf.GGUFWriter, dict[str, Any]], None]:
    """A writer of the tokens and the chat template beside a checkpoint, or of made up ones."""
    path = directory / "tokenizer.json"

    def write(writer: gguf.GGUFWriter, text: dict[str, Any]) -> None:
        names = {**tokens_of(config), 1: "<s>", 2: "</s>"}
        if path.is_file():
            tokenizer = json.loads(path.read_text())
            names = {token_id: token for token, token_id in tokenizer["model"]["vocab"].items()}
            names |= {each["id"]: each["content"] for each in tokenizer["added_tokens"]}
            special = {each["id"] for each in tokenizer["added_tokens"]}
            writer.add_chat_template((directory / "chat_template.jinja").read_text())
        else:
            special = set(names)
        tokens = [names.get(token_id, f"<unused{token_id}>") for token_id in range(text["vocab_size"])]
        unused = [token_id for token_id, token in enumerate(tokens) if token.startswith("<unused")]
        for token in (*MERGE, "".join(MERGE)):
            if token not in tokens:
                tokens[unused.pop(0)] = token
        kinds = [gguf.TokenType.CONTROL if i in special else gguf.TokenType.NORMAL for i in range(len(tokens))]
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("gpt-2")
        writer.add_token_list(tokens)
        writer.add_token_types(kinds)
        writer.add_token_merges([" ".join(MERGE)])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_add_bos_token(False)
        writer.add_pad_token_id(text.get("pad_token_id") or 0)
        if is_qwen(config):
            marked = config["vision_config"].get("deepstack_visual_indexes")
            if marked is not None:
                writer.add_num_deepstack_layers(len(marked))

    return write


def metadata_of(directory: Path, config: dict[str, Any]) -> dict[str, Any]:
    """The metadata of the encoder's file, `general.architecture` apart."""
    vision, is_lfm2 = config["vision_config"], config["model_type"] == "lfm2_vl"
    processor = json.loads((directory / "preprocessor_config.json").read_text())
    if is_qwen(config):
        vision = of_qwen(vision)
    metadata: dict[str, Any] = {
        "general.type": "mmproj",
        "clip.has_vision_encoder": True,
        "clip.use_gelu": True,
        "clip.projector_type": PROJECTORS[config["model_type"]],
        "clip.vision.projection_dim": config["text_config"]["hidden_size"],
        "clip.vision.image_size": 256 if is_lfm2 else vision.get("image_size", 224),
        "clip.vision.patch_size": vision["patch_size"],
        "clip.vision.embedding_length": vision["hidden_size"],
        "clip.vision.feed_forward_length": vision["intermediate_size"],
        "clip.vision.block_count": vision["num_hidden_layers"],
        "clip.vision.attention.head_count": vision["num_attention_heads"],
        "clip.vision.attention.layer_norm_epsilon": float(vision.get("layer_norm_eps", 1e-6)),
        "clip.vision.image_mean": processor["image_mean"],
        "clip.vision.image_std": processor["image_std"],
    }
    if is_qwen(config):
        marks = [index in vision.get("deepstack_visual_indexes", []) for index in range(vision["depth"])]
        return metadata | {
            "clip.vision.spatial_merge_size": vision["spatial_merge_size"],
            "clip.vision.is_deepstack_layers": marks,
        }
    metadata["clip.vision.projector.scale_factor"] = merge_size_of(config)
    if config["model_type"] == "gemma4":
        del metadata["clip.use_gelu"]
        metadata["clip.vision.projector_type"] = metadata.pop("clip.projector_type")
        metadata["clip.vision.attention.head_count_kv"] = vision["num_key_value_heads"]
    if config["model_type"] in ("smolvlm", "idefics3") and "size" in processor:
        metadata["clip.vision.preproc_image_size"] = processor["size"]["longest_edge"]
    return metadata


def of_qwen(vision: dict[str, Any]) -> dict[str, Any]:
    """The `vision_config` of Qwen3-VL with the usual names."""
    return vision | {
        "image_size": math.isqrt(vision["num_position_embeddings"]) * vision["patch_size"],
        "num_hidden_layers": vision["depth"],
        "num_attention_heads": vision["num_heads"],
    }


def merge_size_of(config: dict[str, Any]) -> int:
    if config["model_type"] == "gemma4":
        return int(config["vision_config"]["pooling_kernel_size"])
    if config["model_type"] == "gemma3":
        vision = config["vision_config"]
        per_side: int = vision["image_size"] // vision["patch_size"]
        return per_side // math.isqrt(config["mm_tokens_per_image"])
    merge_size: int = config["downsample_factor" if config["model_type"] == "lfm2_vl" else "scale_factor"]
    return merge_size

"""Folders with random weights of 8 bits, as llm-compressor writes them for vLLM (w8a8).

python -m benchmarks.random_w8a8 --shape A

The counterparts of the files of `random_gguf`: weights have a scale per output, activations are quantized per token,
embeddings and norms are bfloat16. Every token is a word.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from benchmarks.random_gguf import CONTEXT, SEED, SHAPES, Shape, cache_directory

NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "output_norm": "model.norm",
    "token_embd": "model.embed_tokens",
}
QUANTIZATION = {
    "quant_method": "compressed-tensors",
    "format": "int-quantized",
    "ignore": ["lm_head"],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel", "dynamic": False},
            "input_activations": {
                "num_bits": 8,
                "type": "int",
                "symmetric": True,
                "strategy": "token",
                "dynamic": True,
            },
        }
    },
}


class Tensor(NamedTuple):
    """One tensor of a file: its name, the format's word for its type, and its values."""

    name: str
    type: str
    values: NDArray[Any]


def random_w8a8(shape_name: str, directory: Path | None = None) -> Path:
    """The folder of this shape (a key of SHAPES); it is made if it does not exist."""
    shape = SHAPES[shape_name]
    path = (directory or cache_directory()) / f"random-{shape_name}-w8a8-{SEED}"
    if not path.exists():
        unfinished = path.with_suffix(".part")
        unfinished.mkdir(parents=True, exist_ok=True)
        (unfinished / "config.json").write_text(json.dumps(config(shape), indent=2))
        write_tokenizer(unfinished, shape.vocab)
        write_safetensors(unfinished / "model.safetensors", list(tensors(shape)))
        unfinished.rename(path)
    return path


def config(shape: Shape) -> dict[str, Any]:
    """The content of config.json."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.ffn,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "vocab_size": shape.vocab,
        "max_position_embeddings": CONTEXT,
        "rope_theta": 100_000.0,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "bos_token_id": 1,
        "eos_token_id": 2,
        "quantization_config": QUANTIZATION,
    }


def tensors(shape: Shape) -> Iterator[Tensor]:
    """All tensors of a model."""
    generator = np.random.default_rng(SEED)
    for name in shape.norms:
        yield Tensor(f"{long_name(name)}.weight", "BF16", bfloat16(generator.uniform(0.8, 1.2, shape.hidden)))
    for name, size in shape.matrices.items():
        title = long_name(name)
        deviation = 1 / np.sqrt(size[1])
        if name.startswith("token_embd"):
            yield Tensor(f"{title}.weight", "BF16", bfloat16(generator.standard_normal(size) * deviation))
            continue
        yield Tensor(f"{title}.weight", "I8", generator.integers(-127, 128, size, dtype=np.int8))
        scales = np.full((size[0], 1), deviation * np.sqrt(3) / 127)  # uniform values: 127 / sqrt(3) is one deviation
        yield Tensor(f"{title}.weight_scale", "BF16", bfloat16(scales))


def write_tokenizer(folder: Path, vocab_size: int) -> None:
    """Write a tokenizer of numbered words."""
    words = {"<unk>": 0, "<s>": 1, "</s>": 2} | {f"t{number}": number for number in range(3, vocab_size)}
    Tokenizer(WordLevel(words, "<unk>")).save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def long_name(name: str) -> str:
    """The name in a folder for a name in a GGUF file, both without `.weight`."""
    *layer, kind = name.removesuffix(".weight").removeprefix("blk.").split(".")
    return f"model.layers.{layer[0]}.{NAMES[kind]}" if layer else NAMES[kind]


def bfloat16(values: NDArray[Any]) -> NDArray[np.uint16]:
    """The upper halves of float32."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def write_safetensors(path: Path, all_tensors: list[Tensor]) -> None:
    """Write a file of the format of https://github.com/huggingface/safetensors."""
    header, place = {}, 0
    for tensor in all_tensors:
        end = place + tensor.values.nbytes
        header[tensor.name] = {"dtype": tensor.type, "shape": tensor.values.shape, "data_offsets": [place, end]}
        place = end
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    with path.open("wb") as file:
        file.write(len(encoded).to_bytes(8, "little") + encoded)
        for tensor in all_tensors:
            file.write(tensor.values.tobytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="A")
    parser.add_argument("--directory", type=Path, default=cache_directory())
    arguments = parser.parse_args()
    print(random_w8a8(arguments.shape, arguments.directory))


if __name__ == "__main__":
    main()

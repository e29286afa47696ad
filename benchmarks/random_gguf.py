"""GGUF files of random weights in the shapes of well-known small models.

python -m benchmarks.random_gguf --shape A --format Q8_0

Speed does not depend on the values of the weights, so these replace models that cannot be downloaded.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import numpy as np

SEED = 2025
CONTEXT = 8192
FORMATS = ("Q8_0", "Q4_0")
NUM_CONTROL_TOKENS, NUM_BYTES = 3, 256


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A Llama model whose output head is its embedding."""

    title: str
    hidden: int
    ffn: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int

    @property
    def matrices(self) -> dict[str, tuple[int, int]]:
        """Name in a GGUF file and (outputs, inputs) of every matrix."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        of_layer = {
            "attn_q": (queries, self.hidden),
            "attn_k": (keys, self.hidden),
            "attn_v": (keys, self.hidden),
            "attn_output": (self.hidden, queries),
            "ffn_gate": (self.ffn, self.hidden),
            "ffn_up": (self.ffn, self.hidden),
            "ffn_down": (self.hidden, self.ffn),
        }
        layers = {
            f"blk.{layer}.{name}.weight": shape for layer in range(self.layers) for name, shape in of_layer.items()
        }
        return {"token_embd.weight": (self.vocab, self.hidden), **layers}

    @property
    def norms(self) -> list[str]:
        """Name of every vector of norm weights."""
        of_layers = [f"blk.{i}.{n}.weight" for i in range(self.layers) for n in ("attn_norm", "ffn_norm")]
        return [*of_layers, "output_norm.weight"]


SHAPES: Mapping[str, Shape] = {
    "A": Shape(
        title="SmolLM2-135M's shape",
        hidden=576,
        ffn=1536,
        layers=30,
        heads=9,
        kv_heads=3,
        head_dim=64,
        vocab=49152,
    ),
    "B": Shape(
        title="Qwen3-0.6B's shape as a plain Llama",
        hidden=1024,
        ffn=3072,
        layers=28,
        heads=16,
        kv_heads=8,
        head_dim=128,
        vocab=151936,
    ),
}


class Variant(NamedTuple):
    """Another architecture than Llama: its keys, names of further norms of a layer, and control tokens.

    `hidden_norms` go over hidden states, `head_norms` over heads. `more` are further vectors. The control tokens are
    the last ones of the vocabulary.
    """

    architecture: str = "llama"
    metadata: Mapping[str, Any] = {}
    hidden_norms: tuple[str, ...] = ()
    head_norms: tuple[str, ...] = ()
    more: Mapping[str, int] = {}
    control_tokens: tuple[str, ...] = ()


def cache_directory() -> Path:
    """The directory of files that benchmarks make, outside the repository."""
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "cactus-benchmarks"


def random_gguf(shape_name: str, format_name: str, directory: Path | None = None) -> Path:
    """The file of this shape (a key of SHAPES) and format (one of FORMATS); it is made if it does not exist."""
    shape = SHAPES[shape_name]
    path = (directory or cache_directory()) / f"random-{shape_name}-{format_name}-{SEED}.gguf"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        write_text_model(unfinished, shape, gguf.GGMLQuantizationType[format_name])
        unfinished.rename(path)
    return path


def weight_bytes(path: Path) -> int:
    """Bytes of all tensors, which one decode step of a single sequence has to read."""
    return sum(int(tensor.n_bytes) for tensor in gguf.GGUFReader(path).tensors)


def write_text_model(path: Path, shape: Shape, kind: gguf.GGMLQuantizationType, variant: Variant | None = None) -> None:
    """Write random weights."""
    variant = variant or Variant()
    writer = gguf.GGUFWriter(path, variant.architecture)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(100_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(shape.vocab)
    for key, value in variant.metadata.items():
        add_metadata(writer, f"{variant.architecture}.{key}", value)
    _add_vocabulary(writer, shape.vocab, variant.control_tokens)

    generator = np.random.default_rng(SEED)
    sizes = dict.fromkeys(shape.norms, shape.hidden)
    for layer in range(shape.layers):
        sizes |= {f"blk.{layer}.{name}.weight": shape.hidden for name in variant.hidden_norms}
        sizes |= {f"blk.{layer}.{name}.weight": shape.head_dim for name in variant.head_norms}
    for name, size in (sizes | dict(variant.more)).items():
        writer.add_tensor(name, generator.uniform(0.8, 1.2, size).astype(np.float32))
    for name, (num_outputs, num_inputs) in shape.matrices.items():
        weights = generator.standard_normal((num_outputs, num_inputs), dtype=np.float32)
        weights /= np.float32(np.sqrt(num_inputs))
        writer.add_tensor(name, gguf.quants.quantize(weights, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_metadata(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    """A key with the type of its value."""
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case str():
            writer.add_string(key, value)
        case _:
            writer.add_array(key, value)


def _add_vocabulary(writer: gguf.GGUFWriter, vocab_size: int, control_tokens: tuple[str, ...]) -> None:
    """Add a SentencePiece vocabulary: three control tokens, all bytes, then numbered words."""
    num_words = vocab_size - NUM_CONTROL_TOKENS - NUM_BYTES
    types = gguf.TokenType
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(NUM_BYTES)]
    tokens += [f"t{number}" for number in range(num_words)]
    kinds = [types.UNKNOWN, types.CONTROL, types.CONTROL] + [types.BYTE] * NUM_BYTES + [types.NORMAL] * num_words
    for place, token in enumerate(control_tokens, start=vocab_size - len(control_tokens)):
        tokens[place], kinds[place] = token, types.CONTROL
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * vocab_size)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="A")
    parser.add_argument("--format", choices=FORMATS, default="Q8_0")
    parser.add_argument("--directory", type=Path, default=cache_directory())
    arguments = parser.parse_args()
    print(random_gguf(arguments.shape, arguments.format, arguments.directory))


if __name__ == "__main__":
    main()

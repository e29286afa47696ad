"""GGUF files of random weights in the shapes of vision models: a text model, and its encoder of pictures (mmproj).

python -m benchmarks.random_vision_gguf --encoder smolvlm --format Q8_0

The encoders are those of `encoder_shapes.py`. SmolVLM's text model is SmolLM2-135M's shape; the others have the hidden
size of their models and four layers, because only their encoders are measured.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import gguf
import numpy as np

from benchmarks.encoder_shapes import ENCODERS, EncoderShape
from benchmarks.random_gguf import (
    FORMATS,
    SEED,
    SHAPES,
    Shape,
    Variant,
    add_metadata,
    cache_directory,
    write_text_model,
)

HEAD_DIM, NUM_LAYERS = 128, 4
SLIDES = [True] * (NUM_LAYERS - 1) + [False]
GEMMA_NORMS = ("post_attention_norm", "post_ffw_norm")
HEAD_NORMS = ("attn_q_norm", "attn_k_norm")
VARIANTS = {
    "gemma3": Variant("gemma3", {"attention.sliding_window": 1024}, GEMMA_NORMS, HEAD_NORMS),
    "gemma4": Variant(
        "gemma4",
        {
            "attention.sliding_window": 512,
            "attention.sliding_window_pattern": SLIDES,
            "attention.key_length_swa": HEAD_DIM,
            "attention.value_length_swa": HEAD_DIM,
            "rope.dimension_count_swa": HEAD_DIM,
            "rope.freq_base_swa": 10_000.0,
            "embedding_length_per_layer_input": 0,
            "attention.shared_kv_layers": 0,
        },
        GEMMA_NORMS,
        HEAD_NORMS,
        {
            "rope_freqs.weight": HEAD_DIM // 2,
            **{f"blk.{layer}.layer_output_scale.weight": 1 for layer in range(NUM_LAYERS)},
        },
    ),
    "qwen3vl": Variant("qwen3vl", {"rope.dimension_sections": [24, 20, 20, 0]}, head_norms=HEAD_NORMS),
}
"""Text models by their architectures, without tokens of pictures and layers with features."""


class VisionModel(NamedTuple):
    """The files of a text model and of its encoder."""

    text: Path
    mmproj: Path


def random_vision_gguf(encoder: str, format_name: str, directory: Path | None = None) -> VisionModel:
    """The files of this encoder (a key of ENCODERS) and format (one of FORMATS); they are made if they do not exist."""
    folder = directory or cache_directory()
    names = (f"random-{encoder}-{part}-{format_name}-{SEED}.gguf" for part in ("text", "encoder"))
    model = VisionModel(*(folder / name for name in names))
    kind = gguf.GGMLQuantizationType[format_name]
    for path, write in ((model.text, _write_text), (model.mmproj, _write_mmproj)):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".part")
            write(unfinished, ENCODERS[encoder], kind)
            unfinished.rename(path)
    return model


def _write_text(path: Path, encoder: EncoderShape, kind: gguf.GGMLQuantizationType) -> None:
    shape, variant = SHAPES["A"], VARIANTS.get(encoder.text, Variant())
    if encoder.text != "llama":
        shape = Shape(
            title=encoder.title,
            hidden=encoder.text_hidden,
            ffn=2 * encoder.text_hidden,
            layers=NUM_LAYERS,
            heads=8,
            kv_heads=4,
            head_dim=HEAD_DIM,
            vocab=8192,
        )
    metadata = dict(variant.metadata)
    if encoder.feature_layers:
        metadata["n_deepstack_layers"] = len(encoder.feature_layers)
    write_text_model(path, shape, kind, variant._replace(metadata=metadata, control_tokens=encoder.image_tokens))


def _write_mmproj(path: Path, encoder: EncoderShape, kind: gguf.GGMLQuantizationType) -> None:
    """Write random weights; as in published files, a matrix whose rows are no whole groups of 32 is F16."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_type(gguf.GGUFType.MMPROJ)
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type(encoder.projector)
    writer.add_vision_use_gelu(True)
    writer.add_vision_projection_dim(encoder.text_hidden)
    writer.add_vision_image_size(encoder.image_side)
    writer.add_vision_patch_size(encoder.patch_side)
    writer.add_vision_embedding_length(encoder.hidden)
    writer.add_vision_feed_forward_length(encoder.ffn)
    writer.add_vision_block_count(encoder.layers)
    writer.add_vision_head_count(encoder.heads)
    writer.add_vision_attention_layernorm_eps(1e-6)
    writer.add_vision_image_mean([0.5, 0.5, 0.5])
    writer.add_vision_image_std([0.5, 0.5, 0.5])
    for key, value in encoder.metadata.items():
        add_metadata(writer, f"clip.{key}", value)

    generator = np.random.default_rng(SEED)
    for name, dimensions in encoder.tensors:
        if name.endswith(".bias"):
            writer.add_tensor(name, generator.uniform(-0.1, 0.1, dimensions).astype(np.float32))
        elif len(dimensions) == 1:
            writer.add_tensor(name, generator.uniform(0.8, 1.2, dimensions).astype(np.float32))
        elif "position" in name:
            writer.add_tensor(name, generator.standard_normal(dimensions, dtype=np.float32))
        else:
            weights = generator.standard_normal(dimensions, dtype=np.float32)
            weights /= np.float32(np.sqrt(np.prod(dimensions[1:])))
            if len(dimensions) > 2:
                writer.add_tensor(name, weights)
                continue
            stored = kind if dimensions[-1] % 32 == 0 else gguf.GGMLQuantizationType.F16
            writer.add_tensor(name, gguf.quants.quantize(weights, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", choices=sorted(ENCODERS), default="smolvlm")
    parser.add_argument("--format", choices=FORMATS, default="Q8_0")
    parser.add_argument("--directory", type=Path, default=cache_directory())
    arguments = parser.parse_args()
    print(*random_vision_gguf(arguments.encoder, arguments.format, arguments.directory), sep="\n")


if __name__ == "__main__":
    main()

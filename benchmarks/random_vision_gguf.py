"""GGUF files of random weights in the shape of a small vision model: a text model, and its encoder (mmproj).

python -m benchmarks.random_vision_gguf --format Q8_0

The shapes are those of SmolVLM-256M: SmolLM2-135M's, and SigLIP base with patches of 16 pixels in tiles of 512.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import gguf
import numpy as np

from benchmarks.random_gguf import FORMATS, SEED, SHAPES, cache_directory, write_text_model

TEXT_SHAPE = "A"
HIDDEN, FFN, LAYERS, HEADS = 768, 3072, 12, 12
TILE_SIDE, PATCH_SIDE, MERGED_SIDE = 512, 16, 4
TILE_TOKENS = (TILE_SIDE // PATCH_SIDE // MERGED_SIDE) ** 2
IMAGE_TOKEN = "<image>"


class VisionModel(NamedTuple):
    """The files of a text model and of its encoder."""

    text: Path
    mmproj: Path


def random_vision_gguf(format_name: str, directory: Path | None = None) -> VisionModel:
    """The files in this format (one of FORMATS); they are made if they do not exist."""
    folder = directory or cache_directory()
    names = (f"random-vision-{format_name}-{SEED}.gguf", f"random-vision-encoder-{format_name}-{SEED}.gguf")
    model = VisionModel(*(folder / name for name in names))
    kind = gguf.GGMLQuantizationType[format_name]
    for path, write in ((model.text, _write_text), (model.mmproj, _write_mmproj)):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".part")
            write(unfinished, kind)
            unfinished.rename(path)
    return model


def _write_text(path: Path, kind: gguf.GGMLQuantizationType) -> None:
    write_text_model(path, SHAPES[TEXT_SHAPE], kind, last_token=IMAGE_TOKEN)


def _write_mmproj(path: Path, kind: gguf.GGMLQuantizationType) -> None:
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_type(gguf.GGUFType.MMPROJ)
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type("idefics3")
    writer.add_vision_use_gelu(True)
    writer.add_vision_projection_dim(SHAPES[TEXT_SHAPE].hidden)
    writer.add_vision_image_size(TILE_SIDE)
    writer.add_vision_preproc_image_size(TILE_SIDE)
    writer.add_vision_patch_size(PATCH_SIDE)
    writer.add_vision_embedding_length(HIDDEN)
    writer.add_vision_feed_forward_length(FFN)
    writer.add_vision_block_count(LAYERS)
    writer.add_vision_head_count(HEADS)
    writer.add_vision_attention_layernorm_eps(1e-6)
    writer.add_vision_image_mean([0.5, 0.5, 0.5])
    writer.add_vision_image_std([0.5, 0.5, 0.5])
    writer.add_vision_projector_scale_factor(MERGED_SIDE)

    generator = np.random.default_rng(SEED)

    def add_vectors(name: str, size: int, *, is_norm: bool) -> None:
        if is_norm:
            writer.add_tensor(f"{name}.weight", generator.uniform(0.8, 1.2, size).astype(np.float32))
        writer.add_tensor(f"{name}.bias", generator.uniform(-0.1, 0.1, size).astype(np.float32))

    def add_matrix(name: str, num_outputs: int, num_inputs: int) -> None:
        weights = generator.standard_normal((num_outputs, num_inputs), dtype=np.float32)
        weights /= np.float32(np.sqrt(num_inputs))
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(weights, kind), raw_dtype=kind)

    kernel = generator.standard_normal((HIDDEN, 3, PATCH_SIDE, PATCH_SIDE), dtype=np.float32)
    writer.add_tensor("v.patch_embd.weight", kernel / np.float32(np.sqrt(3) * PATCH_SIDE))
    add_vectors("v.patch_embd", HIDDEN, is_norm=False)
    positions = generator.standard_normal(((TILE_SIDE // PATCH_SIDE) ** 2, HIDDEN), dtype=np.float32)
    writer.add_tensor("v.position_embd.weight", positions)
    for layer in range(LAYERS):
        for norm in ("ln1", "ln2"):
            add_vectors(f"v.blk.{layer}.{norm}", HIDDEN, is_norm=True)
        for part, num_outputs, num_inputs in (
            *((f"attn_{part}", HIDDEN, HIDDEN) for part in ("q", "k", "v", "out")),
            ("ffn_up", FFN, HIDDEN),
            ("ffn_down", HIDDEN, FFN),
        ):
            add_matrix(f"v.blk.{layer}.{part}", num_outputs, num_inputs)
            add_vectors(f"v.blk.{layer}.{part}", num_outputs, is_norm=False)
    add_vectors("v.post_ln", HIDDEN, is_norm=True)
    add_matrix("mm.model.fc", SHAPES[TEXT_SHAPE].hidden, HIDDEN * MERGED_SIDE**2)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=FORMATS, default="Q8_0")
    parser.add_argument("--directory", type=Path, default=cache_directory())
    arguments = parser.parse_args()
    print(*random_vision_gguf(arguments.format, arguments.directory), sep="\n")


if __name__ == "__main__":
    main()

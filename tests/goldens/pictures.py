"""Makes the references of pictures: python -m tests.goldens.pictures [--only NAME] [--into DIRECTORY]

Needs torch, torchvision and transformers, which the tests do not. Per model of `MODELS`: its
config.json, the files that its processor saves, and reference.json, with the ids of a conversation about sample
pictures and some pixels of each tile, before normalisation. The same versions write the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import PIL
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.goldens.sample_pictures import sample_picture, sampled

SIZES = [(60, 40), (20, 90), (1, 1), (170, 130), (42, 42), (300, 12), (97, 211)]
"""Width and height of the pictures, each asked about with the one before it; the first one alone."""

TURNS = (
    "{% for message in messages %}<|turn|>{{ message.role }}\n{% for part in message.content %}"
    "{% if part.type == 'image' %}PICTURE{% else %}{{ part.text }}{% endif %}{% endfor %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)

Tiles = list[np.ndarray]
"""Each (height, width, 3), in whole numbers from 0 to 255."""


class PictureModel(NamedTuple):
    """A model's name, config.json, processor, and how its tiles are found in what the processor returns."""

    name: str
    config: dict[str, Any]
    placeholder: str
    tokens: dict[str, str]
    processor: Callable[[PreTrainedTokenizerFast], Any]
    tiles: Callable[[Any, Any], Tiles]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=[model.name for model in MODELS])
    parser.add_argument("--into", type=Path, default=Path(__file__).parent / "pictures")
    arguments = parser.parse_args()
    for model in MODELS:
        if arguments.only in (None, model.name):
            make(model, arguments.into / model.name)


def make(model: PictureModel, directory: Path) -> None:
    """Write the directory of one model."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizer_of(model)
    processor = model.processor(tokenizer)
    processor.chat_template = TURNS.replace("PICTURE", model.placeholder)
    processor.save_pretrained(directory)
    ids = {name: tokenizer.convert_tokens_to_ids(text) for name, text in model.tokens.items()}
    config = json.loads(
        json.dumps(model.config),
        object_hook=lambda part: {k: ids.get(v, v) if isinstance(v, str) else v for k, v in part.items()},
    )
    config["text_config"] = {"vocab_size": len(tokenizer), "max_position_embeddings": 16384}
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    cases = []
    for place, size in enumerate(SIZES):
        sizes = SIZES[max(0, place - 1) : place + 1]
        pictures = [sample_picture(*one, seed=place) for one in sizes]
        content = [
            part
            for picture in pictures
            for part in ({"type": "image", "image": picture}, {"type": "text", "text": f"of {size}?"})
        ]
        text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
        inputs = processor(text=[text], images=[pictures], return_tensors="np")
        tiles = model.tiles(processor.image_processor, inputs)
        cases.append(
            {
                "sizes": sizes,
                "seed": place,
                "ids": np.asarray(inputs["input_ids"])[0].tolist(),
                "tiles": [[*tile.shape[1::-1], base64.b64encode(sampled(tile).tobytes()).decode()] for tile in tiles],
            }
        )
    reference = {"pillow": PIL.__version__, "transformers": transformers.__version__}
    lines = [f"  {json.dumps(case)}" for case in cases]
    head = json.dumps(reference)[:-1]
    (directory / "reference.json").write_text(f'{head}, "cases": [\n' + ",\n".join(lines) + "\n]}\n")
    print(model.name, [len(case["tiles"]) for case in cases], [len(case["ids"]) for case in cases])


def tokenizer_of(model: PictureModel) -> PreTrainedTokenizerFast:
    """One token a byte, and one for two line ends; the markers of pictures are control tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: place for place, letter in enumerate([*alphabet, "ĊĊ"])}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[("Ċ", "Ċ")]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    grid = [
        form.format(row, column)
        for form in MARKERS.get(model.name, ())
        for row in range(1, 9)
        for column in range(1, 9)
    ]
    inner.add_special_tokens([AddedToken(text, special=True) for text in ("<|turn|>", *model.tokens.values(), *grid)])
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<|turn|>", extra_special_tokens=model.tokens)


def denormalised(values: Any, processor: Any) -> np.ndarray:
    """The bytes of normalised pixels, whose last axis is that of the colours."""
    numbers = np.asarray(values, np.float64)
    if processor.do_normalize:
        numbers = numbers * np.asarray(processor.image_std) + np.asarray(processor.image_mean)
    numbers = numbers / processor.rescale_factor
    whole = np.rint(numbers)
    assert np.abs(numbers - whole).max() < 0.01, "what was normalised were bytes"
    return whole.astype(np.uint8)


def squares(processor: Any, inputs: Any) -> Tiles:
    """Tiles of one size, channels first."""
    values = np.asarray(inputs["pixel_values"])
    return [*denormalised(np.moveaxis(values.reshape(-1, *values.shape[-3:]), 1, -1), processor)]


def merged_patches(processor: Any, inputs: Any) -> Tiles:
    """Patches in the order of Qwen2VLImageProcessor: those of one token beside each other."""
    merge, side, tiles, start = processor.merge_size, processor.patch_size, [], 0
    for _, rows, columns in np.asarray(inputs["image_grid_thw"]):
        patches = np.asarray(inputs["pixel_values"])[start : start + rows * columns]
        start += rows * columns
        shape = (rows // merge, columns // merge, merge, merge, 3, processor.temporal_patch_size, side, side)
        frames = patches.reshape(shape).transpose(5, 0, 2, 6, 1, 3, 7, 4)
        tiles.append(denormalised(frames[0].reshape(rows * side, columns * side, 3), processor))
    return tiles


def positioned_patches(processor: Any, inputs: Any) -> Tiles:
    """Patches with their columns and rows, padded at the end, as of Gemma4ImageProcessor."""
    side, tiles = processor.patch_size, []
    for patches, places in zip(
        np.asarray(inputs["pixel_values"]), np.asarray(inputs["image_position_ids"]), strict=True
    ):
        columns, rows = places.max(axis=0) + 1
        grid = patches[: rows * columns].reshape(rows, columns, side, side, 3).transpose(0, 2, 1, 3, 4)
        tiles.append(denormalised(grid.reshape(rows * side, columns * side, 3), processor))
    return tiles


def shaped_patches(processor: Any, inputs: Any) -> Tiles:
    """Patches with the shape of their grid, padded at the end, as of Lfm2VlImageProcessor."""
    side, tiles = processor.encoder_patch_size, []
    for patches, (rows, columns) in zip(
        np.asarray(inputs["pixel_values"]), np.asarray(inputs["spatial_shapes"]), strict=True
    ):
        grid = patches[: rows * columns].reshape(rows, columns, side, side, 3).transpose(0, 2, 1, 3, 4)
        tiles.append(denormalised(grid.reshape(rows * side, columns * side, 3), processor))
    return tiles


def smolvlm(tokenizer: PreTrainedTokenizerFast, **options: Any) -> Any:
    from transformers.models.smolvlm import processing_smolvlm as processing
    from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil
    from transformers.models.smolvlm.video_processing_smolvlm import SmolVLMVideoProcessor

    processing.num2words = processing.num2words or str  # of videos alone
    pictures = SmolVLMImageProcessorPil(
        size={"longest_edge": 126}, max_image_size={"longest_edge": 42}, resample=1, **options
    )
    return processing.SmolVLMProcessor(pictures, tokenizer, SmolVLMVideoProcessor(), image_seq_len=9)


def lfm2_vl(tokenizer: PreTrainedTokenizerFast) -> Any:
    from transformers import Lfm2VlImageProcessor, Lfm2VlProcessor

    pictures = Lfm2VlImageProcessor(
        encoder_patch_size=4, tile_size=32, max_tiles=6, min_image_tokens=4, max_image_tokens=32
    )
    return Lfm2VlProcessor(pictures, tokenizer)


def qwen3_vl(tokenizer: PreTrainedTokenizerFast) -> Any:
    from transformers import Qwen3VLProcessor, Qwen3VLVideoProcessor
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    pictures = Qwen2VLImageProcessorPil(
        patch_size=6,
        size={"shortest_edge": 30 * 30, "longest_edge": 90 * 90},
        image_mean=[0.5] * 3,
        image_std=[0.5] * 3,
    )
    return Qwen3VLProcessor(pictures, tokenizer, Qwen3VLVideoProcessor())


def gemma3(tokenizer: PreTrainedTokenizerFast) -> Any:
    from transformers import Gemma3Processor
    from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil

    return Gemma3Processor(Gemma3ImageProcessorPil(size={"height": 56, "width": 56}), tokenizer, image_seq_length=4)


def gemma3_with_crops(tokenizer: PreTrainedTokenizerFast) -> Any:
    """The class takes the settings of pan and scan from its caller or from itself, never from the image processor."""
    from transformers import Gemma3Processor
    from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil

    crops = {
        "do_pan_and_scan": True,
        "pan_and_scan_min_crop_size": 19,
        "pan_and_scan_max_num_crops": 3,
        "pan_and_scan_min_ratio_to_activate": 1.4,
    }
    pictures = Gemma3ImageProcessorPil(size={"height": 56, "width": 56}, **crops)
    processor = Gemma3Processor(pictures, tokenizer, image_seq_length=4)
    processor.images_kwargs = Gemma3Processor.images_kwargs | crops
    return processor


def gemma4(tokenizer: PreTrainedTokenizerFast) -> Any:
    from transformers import Gemma4AudioFeatureExtractor, Gemma4Processor, Gemma4VideoProcessor
    from transformers.models.gemma4.image_processing_pil_gemma4 import Gemma4ImageProcessorPil

    pictures = Gemma4ImageProcessorPil(patch_size=4, max_soft_tokens=70, pooling_kernel_size=2)
    return Gemma4Processor(
        Gemma4AudioFeatureExtractor(), pictures, tokenizer, Gemma4VideoProcessor(), image_seq_length=70
    )


MARKERS = {
    "smolvlm": ("<row_{}_col_{}>",),
    "smolvlm-whole": ("<row_{}_col_{}>",),
    "lfm2-vl": ("<|img_row_{}_col_{}|>",),
}
_SMOLVLM = {
    "image_token": "<image>",
    "fake_image_token": "<fake_token_around_image>",
    "global_image_token": "<global-img>",
}
_SMOLVLM_CONFIG = {
    "model_type": "smolvlm",
    "image_token_id": "image_token",
    "scale_factor": 2,
    "vision_config": {"patch_size": 7, "image_size": 42},
}
_GEMMA3 = {"image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"}
_GEMMA3_CONFIG = {
    "model_type": "gemma3",
    "image_token_index": "image_token",
    "boi_token_index": "boi_token",
    "eoi_token_index": "eoi_token",
    "mm_tokens_per_image": 4,
    "vision_config": {"patch_size": 14, "image_size": 56},
}

MODELS = [
    PictureModel("smolvlm", _SMOLVLM_CONFIG, "<image>", _SMOLVLM, smolvlm, squares),
    PictureModel(
        "smolvlm-whole",
        _SMOLVLM_CONFIG,
        "<image>",
        _SMOLVLM,
        lambda tokenizer: smolvlm(tokenizer, do_image_splitting=False, image_mean=[0.4] * 3, image_std=[0.3] * 3),
        squares,
    ),
    PictureModel(
        "qwen3-vl",
        {
            "model_type": "qwen3_vl",
            "image_token_id": "image_token",
            "vision_config": {"patch_size": 6, "spatial_merge_size": 2},
        },
        "<|vision_start|><|image_pad|><|vision_end|>",
        {
            "image_token": "<|image_pad|>",
            "video_token": "<|video_pad|>",
            "vision_start_token": "<|vision_start|>",
            "vision_end_token": "<|vision_end|>",
        },
        qwen3_vl,
        merged_patches,
    ),
    PictureModel("gemma3", _GEMMA3_CONFIG, "<start_of_image>", _GEMMA3, gemma3, squares),
    PictureModel("gemma3-crops", _GEMMA3_CONFIG, "<start_of_image>", _GEMMA3, gemma3_with_crops, squares),
    PictureModel(
        "gemma4",
        {
            "model_type": "gemma4",
            "image_token_id": "image_token",
            "boi_token_id": "boi_token",
            "eoi_token_id": "eoi_token",
            "vision_config": {"patch_size": 4, "pooling_kernel_size": 2},
        },
        "<|image|>",
        {
            **{"image_token": "<|image|>", "boi_token": "<|image>", "eoi_token": "<image|>"},
            **{"audio_token": "<|audio|>", "boa_token": "<|audio>", "eoa_token": "<audio|>"},
        },
        gemma4,
        positioned_patches,
    ),
    PictureModel(
        "lfm2-vl",
        {
            "model_type": "lfm2_vl",
            "image_token_id": "image_token",
            "downsample_factor": 2,
            "vision_config": {"patch_size": 4},
        },
        "<image>",
        {
            "image_token": "<image>",
            "image_start_token": "<|image_start|>",
            "image_end_token": "<|image_end|>",
            "image_thumbnail": "<|img_thumbnail|>",
        },
        lfm2_vl,
        shaped_patches,
    ),
]

if __name__ == "__main__":
    main()

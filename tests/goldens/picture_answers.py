"""Prints the greedy answers to questions about pictures: python -m tests.goldens.picture_answers

Needs torch, torchvision and transformers, and writes nothing: `cluster/test_pictures.py` has the ids. All pictures are
resized by Pillow: torchvision rounds some bytes otherwise, which decides between two tokens of one question to LFM2-VL.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image
from transformers import (
    AutoModelForImageTextToText,
    Gemma3Processor,
    Gemma4AudioFeatureExtractor,
    Gemma4Processor,
    Gemma4VideoProcessor,
    Lfm2VlImageProcessor,
    Lfm2VlProcessor,
    PreTrainedTokenizerFast,
    Qwen3VLProcessor,
    Qwen3VLVideoProcessor,
)
from transformers.image_processing_backends import TorchvisionBackend
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.models.gemma4.image_processing_pil_gemma4 import Gemma4ImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.smolvlm import processing_smolvlm
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil
from transformers.models.smolvlm.video_processing_smolvlm import SmolVLMVideoProcessor

from tests.goldens.sample_pictures import sample_picture
from tests.support.models.served_pictures import SERVED, write_served_model

QUESTION = "What is it?"
NUM_TOKENS = 12


def main() -> None:
    TorchvisionBackend.resize = resized_by_pillow
    for name in SERVED:
        with tempfile.TemporaryDirectory() as directory:
            write_served_model(Path(directory), name)
            answer(name, directory)


def answer(name: str, directory: str) -> None:
    """Print the answers of one model, with the smallest distance of the best logit to the next."""
    processor = processor_of(name, directory)
    model = AutoModelForImageTextToText.from_pretrained(directory, dtype=torch.float32, attn_implementation="eager")
    print(name, transformers.__version__)
    for seeds in ([0], [1], [0, 1], [1, 0]):
        pictures = [sample_picture(40, 30, seed) for seed in seeds]
        content = [*({"type": "image"} for _ in seeds), {"type": "text", "text": QUESTION}]
        text = processor.apply_chat_template([{"role": "user", "content": content}])
        inputs = dict(processor(text=[text], images=[pictures], return_tensors="pt"))
        ids, margins = [], []
        with torch.no_grad():
            for _ in range(NUM_TOKENS):
                inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
                best, second = model(**inputs, use_cache=False).logits[0, -1].topk(2)[0].tolist()
                margins.append(best - second)
                ids.append(int(model(**inputs, use_cache=False).logits[0, -1].argmax()))
                inputs["input_ids"] = torch.cat([inputs["input_ids"], torch.tensor([[ids[-1]]])], dim=1)
                for types in {"token_type_ids", "mm_token_type_ids"} & inputs.keys():
                    inputs[types] = torch.cat([inputs[types], torch.tensor([[0]])], dim=1)
        print(" ", seeds, ids, f"{min(margins):.2g}")


def resized_by_pillow(_: Any, pictures: torch.Tensor, size: Any, resample: int, **__: Any) -> torch.Tensor:
    """The pictures, (..., channels, height, width), in another size."""
    arrays = pictures.reshape(-1, *pictures.shape[-3:]).permute(0, 2, 3, 1).numpy()
    made = [np.asarray(Image.fromarray(array).resize((size.width, size.height), resample)) for array in arrays]
    return torch.tensor(np.stack(made)).permute(0, 3, 1, 2).reshape(*pictures.shape[:-2], size.height, size.width)


def processor_of(name: str, directory: str) -> Any:
    options, file = SERVED[name].processor, f"{directory}/tokenizer.json"
    if name == "lfm2-vl":
        tokens = {"image_token": "<image>", "image_start_token": "<|image_start|>", "image_end_token": "<|image_end|>"}
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=file, extra_special_tokens=tokens)
        return Lfm2VlProcessor(Lfm2VlImageProcessor(**options), tokenizer, chat_template=SERVED[name].template)
    if name == "gemma3":
        tokens = dict(zip(("image_token", "boi_token", "eoi_token"), SERVED[name].markers, strict=False))
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=file, extra_special_tokens=tokens)
        pictures = Gemma3ImageProcessorPil.from_pretrained(directory)
        return Gemma3Processor(pictures, tokenizer, image_seq_length=100, chat_template=SERVED[name].template)
    if name == "qwen3-vl":
        tokens = {"image_token": "<image>", "video_token": "<|video_pad|>"}
        tokens |= {"vision_start_token": "<|vision_start|>", "vision_end_token": "<|vision_end|>"}
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=file, extra_special_tokens=tokens)
        pictures = Qwen2VLImageProcessorPil(**options, image_mean=[0.5] * 3, image_std=[0.5] * 3)
        return Qwen3VLProcessor(pictures, tokenizer, Qwen3VLVideoProcessor(), chat_template=SERVED[name].template)
    if name == "gemma4":
        names = ("image_token", "boi_token", "eoi_token", "", "audio_token", "boa_token", "eoa_token")
        tokens = {token: text for token, text in zip(names, SERVED[name].markers, strict=True) if token}
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=file, pad_token="<|turn|>", extra_special_tokens=tokens)
        parts = Gemma4AudioFeatureExtractor(), Gemma4ImageProcessorPil.from_pretrained(directory)
        template = SERVED[name].template
        return Gemma4Processor(*parts, tokenizer, Gemma4VideoProcessor(), image_seq_length=70, chat_template=template)
    processing_smolvlm.num2words = processing_smolvlm.num2words or str  # of videos alone
    return processing_smolvlm.SmolVLMProcessor(
        SmolVLMImageProcessorPil(**options),
        PreTrainedTokenizerFast(tokenizer_file=file, extra_special_tokens={"image_token": "<image>"}),
        SmolVLMVideoProcessor(),
        image_seq_len=4,
        chat_template=SERVED[name].template,
    )


if __name__ == "__main__":
    main()

"""Write a run's weights as a Hugging Face SmolVLM directory: `python -m training.pictures.export`."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from training.chat import PICTURE_MODEL_DIRECTORY
from training.pictures.network import PictureShape, exported
from training.pictures.rows import IMAGE, SPECIAL_TOKENS
from training.vocabulary import END_OF_TEXT, TURN_END

RUN_DIRECTORY = Path(".cactus") / "training-pictures"
TEMPLATE = Path(__file__).parent / "chat_template.jinja"


def export(run: Path, target: Path) -> None:
    """Write the averaged weights of the run's checkpoint, in bfloat16, with tokenizer, template and configurations."""
    target.mkdir(parents=True, exist_ok=True)
    shape = PictureShape()
    state = torch.load(run / "checkpoint.pt", weights_only=True)["average"]
    tensors = {name: value.to(torch.bfloat16).contiguous() for name, value in exported(state, shape.vision).items()}
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    (target / "model.safetensors").chmod(0o644)
    shutil.copyfile(run / "tokenizer.json", target / "tokenizer.json")
    shutil.copyfile(TEMPLATE, target / "chat_template.jinja")
    tokenizer = Tokenizer.from_file(str(run / "tokenizer.json"))
    ids = {token: tokenizer.token_to_id(token) for token in SPECIAL_TOKENS}
    for name, content in _configurations(shape, ids).items():
        (target / name).write_text(json.dumps(content, indent=2) + "\n")


def _configurations(shape: PictureShape, ids: dict[str, int | None]) -> dict[str, dict[str, object]]:
    text, vision = shape.text, shape.vision
    size = {"longest_edge": vision.image_size}
    return {
        "config.json": {
            "architectures": ["SmolVLMForConditionalGeneration"],
            "model_type": "smolvlm",
            "image_token_id": ids[IMAGE],
            "scale_factor": vision.scale_factor,
            "pad_token_id": ids[END_OF_TEXT],
            "tie_word_embeddings": True,
            "torch_dtype": "bfloat16",
            "text_config": {
                "model_type": "llama",
                "attention_bias": False,
                "bos_token_id": None,
                "eos_token_id": ids[TURN_END],
                "head_dim": text.head_dim,
                "hidden_act": "silu",
                "hidden_size": text.hidden_size,
                "intermediate_size": text.intermediate_size,
                "max_position_embeddings": text.max_position_embeddings,
                "mlp_bias": False,
                "num_attention_heads": text.num_attention_heads,
                "num_hidden_layers": text.num_hidden_layers,
                "num_key_value_heads": text.num_key_value_heads,
                "pad_token_id": ids[END_OF_TEXT],
                "rms_norm_eps": text.rms_norm_eps,
                "rope_theta": text.rope_theta,
                "vocab_size": text.vocab_size,
            },
            "vision_config": {
                "model_type": "smolvlm_vision",
                "hidden_act": "gelu_pytorch_tanh",
                "hidden_size": vision.hidden_size,
                "image_size": vision.image_size,
                "intermediate_size": vision.intermediate_size,
                "layer_norm_eps": vision.layer_norm_eps,
                "num_attention_heads": vision.num_attention_heads,
                "num_hidden_layers": vision.num_hidden_layers,
                "patch_size": vision.patch_size,
            },
        },
        "generation_config.json": {
            "do_sample": False,
            "eos_token_id": [ids[TURN_END], ids[END_OF_TEXT]],
            "pad_token_id": ids[END_OF_TEXT],
        },
        "preprocessor_config.json": {
            "image_processor_type": "SmolVLMImageProcessor",
            "do_image_splitting": False,
            "do_resize": True,
            "image_mean": [0.5, 0.5, 0.5],
            "image_std": [0.5, 0.5, 0.5],
            "max_image_size": size,
            "resample": 1,
            "rescale_factor": 1 / 255,
            "size": size,
        },
        "tokenizer_config.json": {
            "add_bos_token": False,
            "added_tokens_decoder": {
                str(token_id): {
                    "content": token,
                    "lstrip": False,
                    "normalized": False,
                    "rstrip": False,
                    "single_word": False,
                    "special": True,
                }
                for token, token_id in ids.items()
            },
            "bos_token": None,
            "chat_template": TEMPLATE.read_text(),
            "clean_up_tokenization_spaces": False,
            "eos_token": TURN_END,
            "model_max_length": text.max_position_embeddings,
            "pad_token": END_OF_TEXT,
            "tokenizer_class": "PreTrainedTokenizerFast",
            "unk_token": None,
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=RUN_DIRECTORY, help="where the training kept its state")
    parser.add_argument("--model", type=Path, default=PICTURE_MODEL_DIRECTORY, help="the directory to write")
    options = parser.parse_args()
    export(options.directory, options.model)


if __name__ == "__main__":
    main()

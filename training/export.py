"""Write a run's weights as a Hugging Face Llama directory: `python -m training.export`."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file

from training.chat import MODEL_DIRECTORY
from training.model import Shape
from training.vocabulary import CALL_END, CALL_START, END_OF_TEXT, TURN_END, TURN_START

RUN_DIRECTORY = Path(".cactus") / "training"


def export(run: Path, target: Path) -> None:
    template = (MODEL_DIRECTORY / "chat_template.jinja").read_text()
    target.mkdir(parents=True, exist_ok=True)
    (target / "chat_template.jinja").write_text(template)
    state = torch.load(run / "checkpoint.pt", weights_only=True)["average"]
    tensors = {f"model.{name}": value.to(torch.bfloat16).contiguous() for name, value in state.items()}
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    (target / "model.safetensors").chmod(0o644)
    shutil.copyfile(run / "tokenizer.json", target / "tokenizer.json")
    ids = {text: place for place, text in enumerate((END_OF_TEXT, TURN_START, TURN_END, CALL_START, CALL_END))}
    shape = Shape()
    _write(
        target / "config.json",
        {
            "architectures": ["LlamaForCausalLM"],
            "attention_bias": False,
            "attention_dropout": 0.0,
            "bos_token_id": None,
            "eos_token_id": ids[TURN_END],
            "head_dim": shape.head_dim,
            "hidden_act": "silu",
            "hidden_size": shape.hidden_size,
            "initializer_range": 0.02,
            "intermediate_size": shape.intermediate_size,
            "max_position_embeddings": shape.max_position_embeddings,
            "mlp_bias": False,
            "model_type": "llama",
            "num_attention_heads": shape.num_attention_heads,
            "num_hidden_layers": shape.num_hidden_layers,
            "num_key_value_heads": shape.num_key_value_heads,
            "pad_token_id": ids[END_OF_TEXT],
            "rms_norm_eps": shape.rms_norm_eps,
            "rope_scaling": None,
            "rope_theta": shape.rope_theta,
            "tie_word_embeddings": True,
            "torch_dtype": "bfloat16",
            "use_cache": True,
            "vocab_size": shape.vocab_size,
        },
    )
    _write(
        target / "generation_config.json",
        {
            "do_sample": False,
            "eos_token_id": [ids[TURN_END], ids[END_OF_TEXT]],
            "pad_token_id": ids[END_OF_TEXT],
        },
    )
    _write(
        target / "tokenizer_config.json",
        {
            "add_bos_token": False,
            "add_prefix_space": False,
            "added_tokens_decoder": {
                str(place): {
                    "content": text,
                    "lstrip": False,
                    "normalized": False,
                    "rstrip": False,
                    "single_word": False,
                    "special": text not in (CALL_START, CALL_END),
                }
                for text, place in ids.items()
            },
            "bos_token": None,
            "chat_template": template,
            "clean_up_tokenization_spaces": False,
            "eos_token": TURN_END,
            "model_max_length": shape.max_position_embeddings,
            "pad_token": END_OF_TEXT,
            "tokenizer_class": "PreTrainedTokenizerFast",
            "unk_token": None,
        },
    )


def _write(path: Path, content: dict[str, object]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=RUN_DIRECTORY, help="where the training kept its state")
    parser.add_argument("--model", type=Path, default=MODEL_DIRECTORY, help="the directory to write")
    options = parser.parse_args()
    export(options.directory, options.model)


if __name__ == "__main__":
    main()

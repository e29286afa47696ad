"""Makes the golden GGUF files: python -m tests.goldens.convert LLAMA_CPP [--only NAME] [--into DIRECTORY]

LLAMA_CPP is a checkout of llama.cpp, whose convert_hf_to_gguf.py writes the files; that needs torch,
transformers, sentencepiece and gguf. Per family of `CONVERTED`: model.gguf, reference.json and logits.npy as
`make.py` makes them, by transformers from the checkpoint that was converted, and the pieces into which the
package sentencepiece splits some texts. The same versions write the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import sentencepiece
import torch
import transformers

from tests.goldens.families import FAMILIES
from tests.goldens.family import Family
from tests.goldens.make import make

VOCAB_SIZE = 352
CONTROL = ["<mask>", "<start_of_turn>", "<end_of_turn>"]
LITERAL = ["\n", "\n\n", "\u2581\u2581", "\u2581\u2581\u2581", "<b>", "</b>"]
CORPUS = """A small vocabulary is learned from these lines, and nothing else is.
The models that have it are made of random numbers: what they say means nothing.
Cactus grows where little water is. Where water is little, little grows.
Is it so? It is, said the other one; and the one said: so it is.
In the morning the sun is red, at noon it is white, in the evening it is red again.
Numbers are written with digits, 10, 20 and 30, or with letters, ten, twenty and thirty.
"""
TEXTS = [
    "The sun is red.",
    " the  sun   is\nred\n\nand white",
    "<b>so</b> it is",
    "<start_of_turn>user\nIs it so?<end_of_turn>\n",
    "water 1230 \u00e9 \u6f22\u5b57 \U0001f335",
    "",
]
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<start_of_turn>{{ message.role }}\n"
    "{{ message.content }}<end_of_turn>\n{% endfor %}"
)


def converted(name: str, golden: str, **changes: object) -> Family:
    """A family like the golden one, with a vocabulary that sentencepiece can represent."""
    like = next(family for family in FAMILIES if family.name == golden)
    config = like.config | {"vocab_size": VOCAB_SIZE} | changes
    return Family(name, f"{like.stands_for}, converted", "bfloat16", like.prompt_length, config)


CONVERTED = (
    converted("gemma2-converted", "gemma2", head_dim=16, query_pre_attn_scalar=16, num_hidden_layers=2),
    converted("gemma3-converted", "gemma3", head_dim=16, query_pre_attn_scalar=16, eos_token_id=1),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("llama_cpp", type=Path)
    parser.add_argument("--only", choices=[family.name for family in CONVERTED])
    parser.add_argument("--into", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for family in CONVERTED:
        if arguments.only in (None, family.name):
            with tempfile.TemporaryDirectory() as name:
                checkpoint = Path(name) / family.name
                make(family, checkpoint)
                write_vocabulary(checkpoint)
                into = arguments.into / family.name
                into.mkdir(parents=True, exist_ok=True)
                convert(arguments.llama_cpp, checkpoint, into / "model.gguf")
                write_reference(checkpoint, into)


def write_vocabulary(checkpoint: Path) -> None:
    """Write tokenizer.model with Gemma's options: no space in front of a text, bytes for text without a token."""
    corpus, prefix = checkpoint / "corpus.txt", checkpoint / "tokenizer"
    corpus.write_text(CORPUS)
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus),
        model_prefix=str(prefix),
        model_type="bpe",
        vocab_size=VOCAB_SIZE,
        character_coverage=1.0,
        byte_fallback=True,
        split_digits=True,
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        normalization_rule_name="identity",
        pad_id=0,
        eos_id=1,
        bos_id=2,
        unk_id=3,
        pad_piece="<pad>",
        eos_piece="<eos>",
        bos_piece="<bos>",
        unk_piece="<unk>",
        control_symbols=CONTROL,
        user_defined_symbols=LITERAL,
        num_threads=1,
        minloglevel=2,
    )
    vocabulary = sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")
    special = ["<pad>", "<eos>", "<bos>", "<unk>", *CONTROL]
    config = {
        "bos_token": "<bos>",
        "eos_token": "<eos>",
        "add_bos_token": True,
        "chat_template": TEMPLATE,
        "added_tokens_decoder": {
            vocabulary.piece_to_id(text): {"content": text, "special": text in special} for text in [*special, *LITERAL]
        },
    }
    (checkpoint / "tokenizer_config.json").write_text(json.dumps(config))


def convert(llama_cpp: Path, checkpoint: Path, target: Path) -> None:
    """Run llama.cpp's converter."""
    script = llama_cpp / "convert_hf_to_gguf.py"
    command = [sys.executable, script, checkpoint, "--outfile", target, "--outtype", "bf16"]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": "0"})


def write_reference(checkpoint: Path, into: Path) -> None:
    """Write the outputs of transformers and sentencepiece next to the file."""
    vocabulary = sentencepiece.SentencePieceProcessor(model_file=str(checkpoint / "tokenizer.model"))
    reference = json.loads((checkpoint / "reference.json").read_text())
    reference |= {"sentencepiece": sentencepiece.__version__}
    reference["texts"] = {text: vocabulary.encode(text) for text in TEXTS}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in reference.items()]
    (into / "reference.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    (into / "logits.npy").write_bytes((checkpoint / "logits.npy").read_bytes())
    print(f"{into.name}: {(into / 'model.gguf').stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()

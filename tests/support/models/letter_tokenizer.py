"""A tokenizer of letters, for models without one."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers


def write_letter_tokenizer(directory: Path, vocab_size: int) -> None:
    """Letters, and tokens without meaning."""
    letters = [chr(code) for code in range(33, 127)] + ["Ġ", "Ċ"]
    letters += [f"<unused{place}>" for place in range(len(letters), vocab_size)]
    inner = Tokenizer(models.BPE(vocab={letter: place for place, letter in enumerate(letters)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text("{}")

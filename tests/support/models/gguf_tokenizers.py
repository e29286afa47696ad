"""GGUF files that hold a vocabulary and no weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf

from tests.support.models.json_tokenizers import BYTE_LEVEL_MERGES, byte_level_tokens


def sentencepiece_tokens() -> list[str]:
    pieces = ["\u2581", "t", "o", "\u2581t", "to", "\u2581to", "ab", "a", "b", "abab"]
    return ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]


def write_vocabulary(path: Path, model: str, tokens: list[str], types: list[int], **keys: Any) -> Path:
    """A GGUF file of vocabulary only; `__` in a key stands for a dot."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    for key, value in keys.items():
        name = f"tokenizer.ggml.{key.replace('__', '.')}"
        match value:
            case bool():
                writer.add_bool(name, value)
            case int():
                writer.add_uint32(name, value)
            case bytes() | list():
                writer.add_array(name, value)
            case _:
                writer.add_string(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_sentencepiece(path: Path, **changes: Any) -> Path:
    tokens = sentencepiece_tokens()
    types = [2, 3, 3, *[6] * 256, *[1] * (len(tokens) - 259)]
    keys = {
        "scores": [-float(number) for number in range(len(tokens))],
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
    }
    return write_vocabulary(path, "llama", tokens, types, **(keys | changes))


def write_byte_level(path: Path, **changes: Any) -> Path:
    tokens = byte_level_tokens()
    types = [3, 3, *[1] * (len(tokens) - 2)]
    keys = {"merges": BYTE_LEVEL_MERGES, "pre": "gpt-2", "eos_token_id": 0, "bos_token_id": 1}
    return write_vocabulary(path, "gpt2", tokens, types, **(keys | changes))

"""A small valid GGUF file to damage, and the contract of readers of damaged files."""

from __future__ import annotations

import struct
from typing import Any

import gguf
import numpy as np

from cactus_actors.protocol.errors import CactusError, ModelFileInvalid
from cactus_actors.text import TextModel
from tests.support.fuzzing.judging import answer
from tests.support.models.embedding_vocabularies import character_map
from tests.support.models.file_bytes import (
    gguf_bytes,
    string,
    tensor_info,
)
from tests.support.models.tiny_gguf import SHAPES, TOKEN_TYPES, TOKENS

TEXT = "hello <|end|> wörld 123"


def refused(result: Any) -> bool:
    """True if a file was refused with the error for files."""
    assert not isinstance(result, CactusError) or isinstance(result, ModelFileInvalid)
    return isinstance(result, CactusError)


def use(model: TextModel) -> None:
    """Use a tokenizer and a template as a service does."""
    answer(model.tokenizer.decode, model.tokenizer.encode(TEXT, add_special=True))
    answer(model.tokenizer.encode, TEXT, add_special=False, parse_special=False)
    answer(model.chat_prompt, [{"role": "user", "content": TEXT}])


def text_value(value: str) -> bytes:
    return struct.pack("<I", 8) + string(value)


def count_value(value: int) -> bytes:
    return struct.pack("<II", 4, value)


def float_value(value: float) -> bytes:
    return struct.pack("<If", 6, value)


def flag_value(value: int) -> bytes:
    return struct.pack("<IB", 7, value)


def texts_value(values: list[str]) -> bytes:
    return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(string, values))


def numbers_value(kind: int, form: str, values: list[Any]) -> bytes:
    return struct.pack(f"<IIQ{len(values)}{form}", 9, kind, len(values), *values)


METADATA: dict[str, bytes] = {
    "general.architecture": text_value("llama"),
    "general.alignment": count_value(32),
    "llama.context_length": count_value(64),
    "llama.embedding_length": count_value(32),
    "llama.feed_forward_length": count_value(32),
    "llama.block_count": count_value(1),
    "llama.attention.head_count": count_value(2),
    "llama.attention.head_count_kv": count_value(1),
    "llama.attention.layer_norm_rms_epsilon": float_value(1e-5),
    "llama.rope.dimension_count": count_value(16),
    "llama.rope.freq_base": float_value(1e4),
    "llama.rope.scaling.type": text_value("linear"),
    "llama.rope.scaling.factor": float_value(2.0),
    "tokenizer.ggml.model": text_value("llama"),
    "tokenizer.ggml.tokens": texts_value(TOKENS),
    "tokenizer.ggml.scores": numbers_value(6, "f", [-float(n) for n in range(len(TOKENS))]),
    "tokenizer.ggml.token_type": numbers_value(5, "i", TOKEN_TYPES),
    "tokenizer.ggml.bos_token_id": count_value(1),
    "tokenizer.ggml.eos_token_id": count_value(2),
    "tokenizer.ggml.unknown_token_id": count_value(0),
    "tokenizer.ggml.add_bos_token": flag_value(1),
    "tokenizer.chat_template": text_value("{{ bos_token }}{{ messages[0].content }}"),
}
OTHER_VOCABULARIES: dict[str, dict[str, bytes]] = {
    "llama": {},
    "bert": {
        "tokenizer.ggml.model": text_value("bert"),
        "tokenizer.ggml.seperator_token_id": count_value(2),
        "tokenizer.ggml.normalizer.lowercase": flag_value(0),
    },
    "t5": {
        "tokenizer.ggml.model": text_value("t5"),
        "tokenizer.ggml.add_space_prefix": flag_value(1),
        "tokenizer.ggml.remove_extra_whitespaces": flag_value(1),
        "tokenizer.ggml.precompiled_charsmap": numbers_value(0, "B", list(character_map({"A": "ab", "\n": " "}))),
    },
}


def gguf_of(metadata: dict[str, bytes], infos: list[bytes], data: bytes) -> bytes:
    return gguf_bytes(entries=[string(key) + value for key, value in metadata.items()], infos=infos, data=data)


def sound_tensors() -> tuple[list[bytes], bytes]:
    infos, data = [], b""
    kind = gguf.GGMLQuantizationType.Q8_0
    for name, shape in SHAPES.items():
        is_matrix = len(shape) == 2
        values = np.ones(shape, np.float32)
        infos.append(tensor_info(f"{name}.weight", list(shape[::-1]), int(kind) if is_matrix else 0, offset=len(data)))
        stored = gguf.quants.quantize(values, kind).tobytes() if is_matrix else values.tobytes()
        data += stored + bytes(-len(stored) % 32)
    return infos, data


INFOS, DATA = sound_tensors()

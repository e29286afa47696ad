"""GGUF and safetensors files written byte by byte, and functions that read complete files."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from cactus_actors.text import load_text_model
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.loading.safetensors_file import open_safetensors


def read_all_of_gguf(path: Path) -> None:
    load_text_model(path)
    tensors = read_model(path).tensors
    for name in tensors:
        with np.errstate(all="ignore"):
            tensors[name]


def read_all_of_safetensors(path: Path) -> None:
    file = open_safetensors(path)
    for name in file.tensors:
        file.read_tensor(name)


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf_bytes(
    *,
    version: int = 3,
    num_tensors: int | None = None,
    num_entries: int | None = None,
    entries: list[bytes] | None = None,
    infos: list[bytes] | None = None,
    data: bytes = b"",
    alignment: int = 32,
) -> bytes:
    entries, infos = entries or [], infos or []
    counts = (
        len(infos) if num_tensors is None else num_tensors,
        len(entries) if num_entries is None else num_entries,
    )
    head = b"GGUF" + struct.pack("<IQQ", version, *counts) + b"".join(entries) + b"".join(infos)
    return head + b"\0" * (-len(head) % alignment) + data


def tensor_info(name: str, dims: list[int], kind: int = 0, offset: int = 0) -> bytes:
    sizes = struct.pack(f"<I{len(dims)}Q", len(dims), *dims)
    return string(name) + sizes + struct.pack("<IQ", kind, offset)


def safetensors_bytes(header: Any, body: bytes = bytes(16), length: int | None = None) -> bytes:
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(encoded) if length is None else length) + encoded + body

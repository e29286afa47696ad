"""The contents of a GGUF file of one tiny Llama layer, for tests that write such files in their own ways."""

from __future__ import annotations

from collections.abc import Mapping

TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581", "a", "b", "ab"]
TOKEN_TYPES = [2, 3, 3, *[6] * 256, 1, 1, 1, 1]
"""GGUF's numbers: 1 normal, 2 unknown, 3 control, 6 byte."""

SHAPES: Mapping[str, tuple[int, ...]] = {
    "token_embd": (len(TOKENS), 32),
    "output_norm": (32,),
    "blk.0.attn_norm": (32,),
    "blk.0.attn_q": (32, 32),
    "blk.0.attn_k": (16, 32),
    "blk.0.attn_v": (16, 32),
    "blk.0.attn_output": (32, 32),
    "blk.0.ffn_norm": (32,),
    "blk.0.ffn_gate": (32, 32),
    "blk.0.ffn_up": (32, 32),
    "blk.0.ffn_down": (32, 32),
}

"""A model whose matrices are stored in blocks of many types computes with their exact values."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType as TensorType

from cactus_actors.models.dequantize import READABLE_TYPES, dequantize
from cactus_actors.workers.loading.load_model import load_model
from tests.support.models.gguf_block_formats import random_blocks
from tests.support.models.golden_runs import alone
from tests.support.models.tiny_gguf import TOKEN_TYPES, TOKENS

HIDDEN, FFN = 256, 512
SHAPES = {
    "token_embd": (len(TOKENS), HIDDEN),
    "blk.0.attn_q": (HIDDEN, HIDDEN),
    "blk.0.attn_k": (HIDDEN, HIDDEN),
    "blk.0.attn_v": (HIDDEN, HIDDEN),
    "blk.0.attn_output": (HIDDEN, HIDDEN),
    "blk.0.ffn_gate": (FFN, HIDDEN),
    "blk.0.ffn_up": (FFN, HIDDEN),
    "blk.0.ffn_down": (HIDDEN, FFN),
}
BLOCKS = [kind for kind in READABLE_TYPES if gguf.GGML_QUANT_SIZES[kind][0] > 1]
PARTS = [BLOCKS[:8], BLOCKS[8:16], BLOCKS[-8:]]


def write_model(path: Path, kinds: list[TensorType], *, dequantised: bool) -> Path:
    """A Llama of one layer, each matrix of another type, or the values of these in float32."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FFN)
    writer.add_block_count(1)
    writer.add_head_count(4)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([-float(token_id) for token_id in range(len(TOKENS))])
    writer.add_token_types(TOKEN_TYPES)
    for (name, shape), kind in zip(SHAPES.items(), kinds, strict=True):
        block_size = gguf.GGML_QUANT_SIZES[kind][0]
        blocks = random_blocks(kind, shape[0] * shape[1] // block_size).reshape(shape[0], -1)
        if dequantised:
            writer.add_tensor(f"{name}.weight", dequantize(blocks.ravel(), kind, shape))
        else:
            writer.add_tensor(f"{name}.weight", blocks, raw_dtype=kind)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(HIDDEN, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("kinds", PARTS, ids=lambda kinds: f"{kinds[0].name}-{kinds[-1].name}")
def test_products_with_gguf_blocks_equal_products_with_their_values(
    tmp_path: Path, kinds: list[TensorType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path / "cache"))
    logits = []
    for name, dequantised in (("blocks", False), ("values", True)):
        path = write_model(tmp_path / f"{name}.gguf", kinds, dequantised=dequantised)
        model = load_model(path, weights="float32", threads=1)
        logits.append(alone(model, [5, 100, 261, 7]))
        model.close()
    assert np.isfinite(logits[0]).all()
    assert np.ptp(logits[0]) > 0
    assert np.array_equal(*logits)

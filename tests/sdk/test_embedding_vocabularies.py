"""Embeddings by a model with the vocabulary of an embedding model: the text is between control tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from cactus_actors.sdk import cactus_destroy, cactus_embed, cactus_init
from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.loading.load_model import load_model
from tests.support.models.embedding_vocabularies import UNIGRAMS, WORD_PIECES

HIDDEN = 32
KINDS: dict[str, tuple[list[str], dict[str, Any], str, list[int]]] = {
    "bert": (
        WORD_PIECES,
        {"unknown_token_id": 1, "cls_token_id": 2, "seperator_token_id": 3},
        "Unaffable, hello!",
        [2, 4, 5, 6, 10, 7, 11, 3],
    ),
    "t5": (
        list(UNIGRAMS),
        {"unknown_token_id": 2, "eos_token_id": 1, "add_space_prefix": True},
        "abc",
        [9, 6, 1],
    ),
}


def write_model(path: Path, kind: str) -> Path:
    """A Llama of one layer with random weights and a vocabulary of that kind."""
    tokens, keys, _, _ = KINDS[kind]
    random = np.random.default_rng(3)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_block_count(1)
    writer.add_head_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model(kind)
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token.startswith(("[", "<")) else 1 for token in tokens])
    writer.add_token_scores([UNIGRAMS.get(token, 0.0) for token in tokens])
    for key, value in keys.items():
        add = writer.add_bool if isinstance(value, bool) else writer.add_uint32
        add(f"tokenizer.ggml.{key}", value)
    parts = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    shapes = {"token_embd": (len(tokens), HIDDEN)} | {f"blk.0.{part}": (HIDDEN, HIDDEN) for part in parts}
    shapes |= dict.fromkeys(("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"), (HIDDEN,))
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", random.standard_normal(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_an_embedding_includes_the_control_tokens_of_its_text(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path / "cache"))
    _, _, text, ids = KINDS[kind]
    path = write_model(tmp_path / "m.gguf", kind)
    model = cactus_init(path, weights="float32", threads=1)
    embedding = np.array(cactus_embed(model, text))
    cactus_destroy(model)

    alone = load_model(path, weights="float32", threads=1)
    positions = np.arange(len(ids), dtype=np.int32)
    batch = Batch(
        token_ids=np.array(ids, np.int32),
        positions=positions,
        sequence_of_token=np.zeros(len(ids), np.int32),
        block_tables=np.zeros((1, 1), np.int32),
        logit_rows=positions,
    )
    mean = alone.hidden_states(batch, alone.new_cache(1)).astype(np.float64).mean(axis=0)
    alone.close()
    np.testing.assert_allclose(embedding, mean / np.linalg.norm(mean), atol=1e-6)

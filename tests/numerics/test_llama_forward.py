"""The compiled step against a literal float64 forward pass, and against itself in every arrangement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.loading.load_model import model_from_tensors, random_model
from cactus_actors.workers.loading.random_weights import parse_random_spec, random_tensors
from cactus_actors.workers.runtime.compiled_step import step_of_rank
from cactus_actors.workers.spec.model_config import ModelConfig
from tests.support.models.reference_llama import reference_hidden

# Sizes that are not a multiple of any tile, several key-value groups, a head smaller than a vector.
ODD = "llama:hidden=60,ffn=172,layers=3,heads=6,kv_heads=3,head_dim=20,vocab=131,context=256,tied=0"
EVEN = "llama:hidden=128,ffn=256,layers=2,heads=4,kv_heads=2,head_dim=64,vocab=512,context=256"
BLOCK_SIZE = 16


def reference_logits(config: ModelConfig, tensors, token_ids) -> np.ndarray:
    """Logits (tokens, vocab) in float64."""
    output = "embed_tokens" if config.tie_embeddings else "lm_head"
    return reference_hidden(config, tensors, token_ids) @ tensors[output].astype(np.float64).T


def make_batch(*chunks: tuple[list[int], int, list[int]]) -> Batch:
    """A batch of (token ids, first position, block table) chunks that wants the logits of all tokens."""
    lengths = [len(token_ids) for token_ids, _, _ in chunks]
    tables = np.zeros((len(chunks), max(len(table) for _, _, table in chunks)), dtype=np.int32)
    for row, (_, _, table) in enumerate(chunks):
        tables[row, : len(table)] = table
    return Batch(
        token_ids=np.concatenate([token_ids for token_ids, _, _ in chunks]).astype(np.int32),
        positions=np.concatenate([np.arange(first, first + len(token_ids)) for token_ids, first, _ in chunks]).astype(
            np.int32
        ),
        sequence_of_token=np.repeat(np.arange(len(chunks)), lengths).astype(np.int32),
        block_tables=tables,
        logit_rows=np.arange(sum(lengths), dtype=np.int32),
    )


def prompt(config: ModelConfig, length: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, config.vocab_size, length).tolist()


@pytest.fixture(scope="module", params=["float32", "int8"])
def odd(request):
    model = random_model(ODD, weights=request.param, threads=1, seed=7)
    yield model
    model.close()


def whole(model, token_ids, block_size: int = BLOCK_SIZE) -> np.ndarray:
    """Logits of all tokens of one sequence, alone in one step."""
    num_blocks = -(-len(token_ids) // block_size)
    cache = model.new_cache(num_blocks, block_size)
    return model.forward(make_batch((token_ids, 0, list(range(num_blocks)))), cache).copy()


def test_the_compiled_step_counts_no_references(odd):
    whole(odd, [1, 2, 3])
    kept = [*Path(step_of_rank.stats.cache_path).glob(f"*{step_of_rank.__qualname__}-*.nbc")]
    assert kept
    for machine_code in (file.read_bytes() for file in kept):
        assert b"NumbaEnv" in machine_code  # symbols can be read
        assert b"NRT_" not in machine_code


@pytest.mark.parametrize("spec", [ODD, EVEN])
def test_float32_logits_equal_the_reference(spec):
    config = parse_random_spec(spec)
    tensors = random_tensors(config, 7)
    model = random_model(spec, weights="float32", threads=1, seed=7)
    token_ids = prompt(config, 70)
    expected = reference_logits(config, tensors, token_ids)
    actual = whole(model, token_ids)
    model.close()
    # float32 keeps 24 bits; some hundred rounded steps lose a few of them, never ten.
    assert np.abs(actual - expected).max() < 2.0**-14 * np.abs(expected).max()


@pytest.mark.parametrize("spec", [ODD, EVEN])
def test_int8_logits_are_close_to_the_reference(spec):
    config = parse_random_spec(spec)
    model = random_model(spec, weights="int8", threads=1, seed=7)
    token_ids = prompt(config, 70)
    expected = reference_logits(config, random_tensors(config, 7), token_ids)
    actual = whole(model, token_ids)
    model.close()
    # Each product of quantised operands is off by about 1 % of its spread; the residual stream adds up.
    error = np.sqrt(((actual - expected) ** 2).mean() / expected.var())
    assert 0 < error < 0.04


# A step is compiled for each format; the products of floats alone are in test_kernels_matmul.py.
@pytest.mark.parametrize("odd", ["int8", pytest.param("float32", marks=pytest.mark.slow)], indirect=True)
def test_both_instruction_sets_give_the_same_bits(odd, monkeypatch):
    monkeypatch.setenv("CACTUS_KERNELS", "portable")
    token_ids = prompt(odd.config, 45)
    model = random_model(ODD, weights=odd.weights_format, threads=1, seed=7)
    assert model.kernels == "portable"
    logits = whole(model, token_ids)
    model.close()
    assert (logits == whole(odd, token_ids)).all()


def test_a_prompt_in_chunks_gives_the_same_bits(odd):
    token_ids = prompt(odd.config, 70)
    expected = whole(odd, token_ids)
    cache = odd.new_cache(5, BLOCK_SIZE)
    first = 0
    for length in (1, 2, 13, 16, 3, 34, 1):
        logits = odd.forward(make_batch((token_ids[first : first + length], first, list(range(5)))), cache)
        assert (logits == expected[first : first + length]).all()
        first += length
    assert first == len(token_ids)


def test_a_sequence_in_a_batch_gives_the_same_bits_as_alone(odd):
    prompts = [prompt(odd.config, length, seed=length) for length in (5, 33, 1, 17, 48)]
    alone = [whole(odd, token_ids) for token_ids in prompts]
    cache = odd.new_cache(20, BLOCK_SIZE)
    blocks = iter(np.random.default_rng(3).permutation(20).tolist())
    tables = [[next(blocks) for _ in range(-(-len(token_ids) // BLOCK_SIZE))] for token_ids in prompts]
    logits = odd.forward(make_batch(*((ids, 0, table) for ids, table in zip(prompts, tables, strict=True))), cache)
    assert (logits == np.concatenate(alone)).all()


def test_decoding_beside_a_prefill_gives_the_same_bits(odd):
    one, other = prompt(odd.config, 40, seed=1), prompt(odd.config, 30, seed=2)
    expected_one, expected_other = whole(odd, one), whole(odd, other)
    cache = odd.new_cache(6, BLOCK_SIZE)
    odd.forward(make_batch((one[:39], 0, [5, 0, 3])), cache)
    logits = odd.forward(make_batch((one[39:], 39, [5, 0, 3]), (other, 0, [1, 4])), cache)
    assert (logits[0] == expected_one[39]).all()
    assert (logits[1:] == expected_other).all()


def test_blocks_of_other_sequences_and_positions_after_the_end_are_never_read(odd):
    token_ids = prompt(odd.config, 21)
    cache = odd.new_cache(4, BLOCK_SIZE)
    for array in cache.arrays:
        array.view(np.uint8).fill(0xFF)  # not a number in every floating-point format
    logits = odd.forward(make_batch((token_ids, 0, [3, 1])), cache)
    assert (logits == whole(odd, token_ids)).all()


@pytest.mark.parametrize("block_size", [32, 48])
def test_larger_blocks_give_the_same_bits(odd, block_size):
    token_ids = prompt(odd.config, 70)
    assert (whole(odd, token_ids, block_size) == whole(odd, token_ids)).all()


def test_smaller_blocks_give_nearly_the_same_logits(odd):
    token_ids = prompt(odd.config, 30)
    # A chunk has fewer positions: its weights are integers in other steps, and activations are rounded elsewhere.
    bound = 1e-4 if odd.weights_format == "float32" else 0.1
    np.testing.assert_allclose(whole(odd, token_ids, 4), whole(odd, token_ids), rtol=0, atol=bound)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("length", [37, 101])  # shared by columns, and divided by rows
def test_more_threads_give_the_same_bits(odd, threads, length):
    token_ids = prompt(odd.config, length)
    model = random_model(ODD, weights=odd.weights_format, threads=threads, seed=7)
    for _ in range(8):
        assert (whole(model, token_ids) == whole(odd, token_ids)).all()
    model.close()


def test_only_requested_rows_have_logits(odd):
    token_ids = prompt(odd.config, 21)
    expected = whole(odd, token_ids)
    cache = odd.new_cache(2, BLOCK_SIZE)
    batch = make_batch((token_ids, 0, [0, 1]))
    for rows in ([20], [3, 0, 20], []):
        asked = Batch(
            token_ids=batch.token_ids,
            positions=batch.positions,
            sequence_of_token=batch.sequence_of_token,
            block_tables=batch.block_tables,
            logit_rows=np.array(rows, dtype=np.int32),
        )
        logits = odd.forward(asked, cache)
        assert logits.shape == (len(rows), odd.config.vocab_size)
        assert (logits == expected[rows]).all()


@pytest.mark.parametrize("weights", ["float32", "int8"])
@pytest.mark.parametrize("hidden", [48, 60])
def test_a_row_that_is_not_finite_does_not_change_later_rows(weights, hidden):
    config = parse_random_spec(
        f"llama:hidden={hidden},ffn=40,layers=1,heads=2,kv_heads=2,head_dim=8,vocab=33,context=16"
    )
    tensors = dict(random_tensors(config, seed=1))
    tensors["layers.0.self_attn.o_proj"] = tensors["layers.0.self_attn.o_proj"] * np.float32(1e38)
    tensors["layers.0.self_attn.v_proj"] = tensors["layers.0.self_attn.v_proj"] * np.float32(1e6)
    tensors["embed_tokens"][1] = 0  # the only token that stays finite
    model = model_from_tensors(config, tensors, weights=weights, threads=1)
    assert not np.isfinite(whole(model, [0])).any()
    assert np.array_equal(whole(model, [1]), np.zeros((1, 33), dtype=np.float32))
    model.close()


def test_every_row_of_logits_has_its_statistics(odd):
    token_ids = prompt(odd.config, 33)
    logits = whole(odd, token_ids).astype(np.float64)
    chunks, (largest, total, weighted, probe) = (
        np.split(odd.logit_stats(33), [3], axis=1)[0],
        odd.logit_stats(33).T[3:],
    )
    assert (chunks == np.stack([part.max(1) for part in np.split(logits, [64, 128], axis=1)], axis=1)).all()
    assert (largest == logits.max(1)).all()
    below = logits - logits.max(1, keepdims=True)
    np.testing.assert_allclose(total, np.exp(below).sum(1), rtol=1e-5)
    np.testing.assert_allclose(weighted, (np.exp(below) * below).sum(1) / np.log(2), rtol=1e-5)
    assert (probe == 0).all()

"""Adapters against a model with merged weights, and with == alone, in any batch and on any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.kernels import thin_products
from cactus_actors.workers.loading.load_model import model_from_tensors
from cactus_actors.workers.loading.random_weights import parse_random_spec, random_adapter, random_tensors
from cactus_actors.workers.runtime import workspace
from cactus_actors.workers.runtime.adapter_sites import AdapterWeights
from cactus_actors.workers.runtime.transformer import TransformerModel
from cactus_actors.workers.spec.model_config import Experts, Layer, ModelConfig, RecurrentHeads
from tests.support.models.for_python import for_python
from tests.support.models.written_adapters import merged

multiply_thin = for_python(thin_products.multiply_thin)

# Heads of 14 lanes, so that the modules of a stacked product begin inside of a block; 57 is odd.
LLAMA = parse_random_spec(
    "llama:hidden=57,ffn=101,layers=2,heads=4,kv_heads=2,head_dim=14,vocab=199,context=128,tied=0"
)
QWEN3_5 = replace(
    LLAMA,
    family="Qwen3.5",
    layers=(Layer(kind="delta"), Layer()),
    num_taps=4,
    recurrent_heads=RecurrentHeads(num_key_heads=2, key_dim=18, num_value_heads=4, value_dim=37),
)
LFM2 = replace(LLAMA, family="LFM2", layers=(Layer(kind="conv"), Layer()), num_taps=3, tie_embeddings=True)
QWEN3_MOE = replace(
    LLAMA,
    family="Qwen3 MoE",
    layers=(Layer(has_experts=True), Layer()),
    experts=Experts(num_experts=3, num_chosen=2, ffn_size=36, normalised=False),
)
LENGTHS = (5, 1, 40, 9, 1, 17, 1, 1)
ADAPTERS = (1, -1, 0, 1, 0, -1, 1, 2)
ALL_LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def batch_of(lengths: tuple[int, ...], adapters: tuple[int, ...] | None, first: int = 0) -> Batch:
    """Sequence i has tokens of its own; blocks are 16 positions."""
    sequences = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    positions = np.concatenate([np.arange(first, first + length, dtype=np.int32) for length in lengths])
    num_blocks = (first + max(lengths)) // 16 + 1
    return Batch(
        token_ids=((positions * 7 + sequences * 31 + 3) % 199).astype(np.int32),
        positions=positions,
        sequence_of_token=sequences,
        block_tables=np.arange(len(lengths) * num_blocks, dtype=np.int32).reshape(len(lengths), -1),
        logit_rows=np.arange(len(positions), dtype=np.int32),
        adapters=None if adapters is None else np.array(adapters, np.int32),
    )


def only(batch: Batch, sequence: int, adapter: int) -> Batch:
    """One sequence of a batch, alone."""
    rows = batch.sequence_of_token == sequence
    return Batch(
        token_ids=batch.token_ids[rows],
        positions=batch.positions[rows],
        sequence_of_token=np.zeros(rows.sum(), np.int32),
        block_tables=np.arange(batch.block_tables.shape[1], dtype=np.int32)[None],
        logit_rows=np.arange(rows.sum(), dtype=np.int32),
        adapters=None if adapter < 0 else np.array([adapter], np.int32),
    )


def logits(model: TransformerModel, batch: Batch) -> NDArray[np.float32]:
    cache = model.new_cache(batch.block_tables.size, 16, len(batch.block_tables))
    return model.forward(batch, cache).copy()


def make_model(config: ModelConfig, weights: str = "float32", threads: int = 1) -> TransformerModel:
    model = model_from_tensors(config, random_tensors(config, 1), weights=weights, threads=threads)
    assert isinstance(model, TransformerModel)
    return model


def is_near(given: NDArray[np.float32], expected: NDArray[np.float32], tolerance: float = 2e-5) -> bool:
    return bool(np.abs(given - expected).max() <= tolerance * np.ptp(expected))


@pytest.mark.parametrize("is_bfloat", [False, True])
@pytest.mark.parametrize(("num_outputs", "num_inputs"), [(16, 2), (7, 33), (48, 100)])
def test_a_low_rank_product_equals_float64_and_does_not_depend_on_tiles(
    num_outputs: int, num_inputs: int, is_bfloat: bool
) -> None:
    random = np.random.default_rng(num_inputs)
    weights = random.standard_normal((num_outputs, num_inputs), np.float32)
    if is_bfloat:
        weights = (weights.view(np.uint32) & 0xFFFF0000).view(np.float32)
    rows = np.zeros((4, num_inputs + 6), np.float32)
    rows[:, :num_inputs] = random.standard_normal((4, num_inputs))
    data, num_pairs = thin_products.pack_thin(weights, is_bfloat=is_bfloat), (num_inputs + 1) // 2
    num_blocks = -(-num_outputs // 16)
    block_size = len(data) // num_blocks

    def product(num_rows: int, start: np.float32) -> NDArray[np.float32]:
        out = np.full((4, 64), start, np.float32)
        for block in range(num_blocks):
            for first in range(0, 4, num_rows):
                source, target = first * rows.shape[1], first * 64 + 16 * block
                multiply_thin(
                    *(data, block * block_size, num_pairs, rows.reshape(-1), source, rows.shape[1]),
                    *(out.reshape(-1), target, 64, num_rows, start != 0),
                )
        return out

    whole = product(4, np.float32(0))
    expected = rows[:, :num_inputs].astype(np.float64) @ weights.astype(np.float64).T
    assert np.allclose(whole[:, :num_outputs], expected, rtol=0, atol=1e-5 * np.sqrt(num_inputs))
    assert (whole[:, num_outputs:] == 0).all()
    assert np.array_equal(product(1, np.float32(0)), whole)
    assert np.array_equal(product(1, np.float32(3))[:, : 16 * num_blocks], whole[:, : 16 * num_blocks] + np.float32(3))


@pytest.mark.parametrize("config", [LLAMA, QWEN3_5, LFM2, QWEN3_MOE], ids=lambda config: config.family)
def test_an_adapter_equals_a_model_with_merged_weights(config: ModelConfig) -> None:
    tensors = random_tensors(config, 1)
    adapters = [random_adapter(config, seed, rank=rank) for seed, rank in ((1, 4), (2, 19))]
    if config.tie_embeddings:
        adapters = [{name: each for name, each in adapter.items() if name != "lm_head"} for adapter in adapters]
    assert len(adapters[0]) >= len(ALL_LINEAR)
    batch = batch_of(LENGTHS, tuple(i % 2 for i in range(len(LENGTHS))))
    model = make_model(config)
    base = logits(model, replace(batch, adapters=None))
    for adapter in adapters:
        model.add_adapter(adapter)
    given = logits(model, batch)
    model.close()
    for number, adapter in enumerate(adapters):
        whole = model_from_tensors(
            config, merged(tensors, adapter, tied=config.tie_embeddings), weights="float32", threads=1
        )
        assert isinstance(whole, TransformerModel)
        expected = logits(whole, replace(batch, adapters=None))
        whole.close()
        rows = batch.sequence_of_token % 2 == number
        assert is_near(given[rows], expected[rows])
        assert not is_near(base[rows], expected[rows], 1e-2)


def test_a_tied_output_matrix_has_its_own_adapter() -> None:
    config = replace(LLAMA, tie_embeddings=True)
    (down, up) = (adapter := random_adapter(config, 1, rank=4, targets=["lm_head"]))["lm_head"]
    model = make_model(config)
    batch = batch_of((5,), (0,))
    base = logits(model, replace(batch, adapters=None))
    hidden = model.hidden_states(replace(batch, adapters=None), model.new_cache(8)).copy()
    model.add_adapter(adapter)
    assert is_near(logits(model, batch), base + hidden @ down.T @ up.T)
    model.close()


@pytest.fixture(scope="module")
def adapters() -> list[AdapterWeights]:
    """Of all modules, of two and of one; ranks that fill no block."""
    return [
        random_adapter(LLAMA, 1, rank=3),
        random_adapter(LLAMA, 2, rank=20, targets=["q_proj", "v_proj"]),
        random_adapter(LLAMA, 3, rank=8, targets=["1.mlp.down_proj"]),
    ]


@pytest.fixture(scope="module", params=["float32", "int8"])
def models(request: pytest.FixtureRequest, adapters: list[AdapterWeights]) -> Iterator[list[TransformerModel]]:
    """The same model and adapters on one, two and three threads."""
    models = [make_model(LLAMA, request.param, threads) for threads in (1, 2, 3)]
    for model in models:
        for adapter in adapters:
            model.add_adapter(adapter)
    yield models
    for model in models:
        model.close()


@pytest.fixture(scope="module")
def expected(models: list[TransformerModel]) -> list[NDArray[np.float32]]:
    """The logits of every sequence alone."""
    batch = batch_of(LENGTHS, ADAPTERS)
    return [logits(models[0], only(batch, number, adapter)) for number, adapter in enumerate(ADAPTERS)]


def test_a_batch_of_different_adapters_changes_no_logits(
    models: list[TransformerModel], expected: list[NDArray[np.float32]]
) -> None:
    for model in models:
        together = logits(model, batch_of(LENGTHS, ADAPTERS))
        assert np.array_equal(together, np.concatenate(expected))


def test_sequences_without_an_adapter_have_the_logits_of_the_base_model(
    models: list[TransformerModel], expected: list[NDArray[np.float32]]
) -> None:
    alone = make_model(LLAMA, models[0].weights_format)
    batch = batch_of(LENGTHS, None)
    base = np.split(logits(alone, batch), np.cumsum(LENGTHS)[:-1])
    alone.close()
    for number, adapter in enumerate(ADAPTERS):
        assert np.array_equal(base[number], expected[number]) == (adapter < 0)


def test_rows_split_among_threads_have_the_same_logits(
    models: list[TransformerModel], expected: list[NDArray[np.float32]]
) -> None:
    repeated = batch_of(LENGTHS, ADAPTERS)
    many = batch_of((100, *LENGTHS), (2, *ADAPTERS))
    shifted = replace(
        many,
        token_ids=np.concatenate([many.token_ids[:100], repeated.token_ids]),
    )
    for model in models:
        assert np.array_equal(logits(model, shifted)[100:], np.concatenate(expected))


def test_after_the_last_attention_adapters_apply_to_rows_with_logits_only(models: list[TransformerModel]) -> None:
    batch = batch_of(LENGTHS, ADAPTERS)
    last = np.cumsum(LENGTHS, dtype=np.int32)[[6, 2, 0]] - 1
    for model in models:
        assert np.array_equal(logits(model, replace(batch, logit_rows=last)), logits(model, batch)[last])


def test_steps_are_the_same_after_an_allocation_fails(
    adapters: list[AdapterWeights], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise MemoryError

    model = make_model(LLAMA)
    model.add_adapter(adapters[1])
    batch, large = batch_of((5, 1), (0, -1)), batch_of((40, 1), (0, -1))
    with monkeypatch.context() as patch:
        expected = logits(model, batch)
        patch.setattr(workspace, "aligned_zeros", refuse)
        with pytest.raises(MemoryError):
            model.add_adapter(adapters[0])
        for _ in range(2):
            with pytest.raises(MemoryError):
                logits(model, large)
        assert np.array_equal(logits(model, batch), expected)
    assert model.add_adapter(adapters[0]) == 1
    assert np.array_equal(logits(model, batch), expected)
    assert np.array_equal(logits(model, large)[:5], expected[:5])
    model.close()


def test_removing_an_adapter_does_not_change_others(adapters: list[AdapterWeights]) -> None:
    model = make_model(LLAMA)
    assert [model.add_adapter(adapter) for adapter in adapters] == [0, 1, 2]
    batch = batch_of((5, 1), (0, 2))
    first = logits(model, batch)
    model.remove_adapter(1)
    assert np.array_equal(logits(model, batch), first)
    assert [model.add_adapter(adapters[1]), model.add_adapter(adapters[2])] == [1, 3]
    assert np.array_equal(logits(model, batch), first)
    assert np.array_equal(logits(model, replace(batch, adapters=np.array([0, 3], np.int32))), first)
    for slot in range(4):
        model.remove_adapter(slot)
    with pytest.raises(AssertionError, match="no such adapter"):
        logits(model, batch)
    model.close()

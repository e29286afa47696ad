"""Attention of sequences that share blocks: together the same bits as alone, with every format and kind of layer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.kv_cache import CacheShape, KVCache
from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.kernels.aligned_memory import aligned_zeros, round_up
from cactus_actors.workers.kernels.attention_items import attention_scratch
from cactus_actors.workers.kernels.barrier import new_barrier
from cactus_actors.workers.kernels.cache_formats import cached_layers
from cactus_actors.workers.loading.load_model import model_from_tensors
from cactus_actors.workers.loading.random_weights import random_tensors
from cactus_actors.workers.runtime.attention_groups import AttentionGroups, groups_of_one
from cactus_actors.workers.runtime.attention_tasks import attend_in_tasks
from cactus_actors.workers.runtime.op_codes import OpCode, RowKind
from cactus_actors.workers.runtime.program import OPERATION
from cactus_actors.workers.runtime.step_arguments import StepInputs, Workspace
from tests.support.models.exact_dispatches import make_engine, run, said
from tests.support.models.exactness_configs import LLAMA
from tests.support.models.for_python import kept_njit

BLOCK_SIZE = 16
KV_HEADS, GROUPED_HEADS, HEAD_DIM = 2, 3, 24
OTHERS = ("float32", "float16")
WIDTH = round_up(KV_HEADS * GROUPED_HEADS * HEAD_DIM, 64)
CONFIG = replace(LLAMA, num_heads=KV_HEADS * GROUPED_HEADS, num_kv_heads=KV_HEADS, head_dim=HEAD_DIM)


@kept_njit(nogil=True)
def _attend(operations, vectors, step, cache, work):
    attend_in_tasks(operations[0], 0, vectors, step, cache, work, 0, 1)


def batch_of_two_prefixes() -> Batch:
    """Sequences behind 37 and behind 20 common blocks, and one of its own: decoding, with drafts, in prompts."""
    num_tokens = [1, 1, 3, 1, 20, 1, 4, 1, 1, 2, 1]
    lengths = [600, 592, 640, 701, 593, 650, 660, 333, 321, 384, 500]
    prefixes = [range(37)] * 7 + [range(40, 60)] * 3 + [range(0)]
    tables, unused = np.zeros((11, 48), np.int32), iter(range(60, 500))
    for table, prefix in zip(tables, prefixes, strict=True):
        table[:] = [*prefix, *(next(unused) for _ in range(48 - len(prefix)))]
    spans = [np.arange(first, first + count) for first, count in zip(lengths, num_tokens, strict=True)]
    return Batch(
        token_ids=np.zeros(sum(num_tokens), np.int32),
        positions=np.concatenate(spans).astype(np.int32),
        sequence_of_token=np.repeat(np.arange(11), num_tokens).astype(np.int32),
        block_tables=tables,
        logit_rows=np.zeros(0, np.int32),
    )


def random_cache(cache_format: str) -> KVCache:
    cache = KVCache.allocate(CacheShape(cached_layers([(KV_HEADS, HEAD_DIM)])), 500, BLOCK_SIZE, cache_format)
    generator = np.random.default_rng(0)
    for array in cache.arrays:
        numbers: Any = generator.standard_normal(array.shape, dtype=np.float32)
        if array.dtype == np.uint16:
            numbers = numbers.astype(np.float16).view(np.uint16)
        # Scales of int8, which are four of these bytes, are numbers between 1e-4 and 1, too.
        array[...] = (60 + numbers).clip(57, 63) if array.dtype == np.uint8 else numbers
    return cache


def attention(cache: KVCache, batch: Batch, *, is_grouped: bool, sinks=None, **fields) -> np.ndarray:
    """The results of all tokens, on one thread of two."""
    num_tokens = len(batch.token_ids)
    tiles, groups = AttentionGroups(CONFIG, threads=2).of(batch, BLOCK_SIZE)
    assert sum(groups[:, 1] - groups[:, 0] > 1) == 3
    operations = np.zeros(1, OPERATION)
    given = {
        **{"code": int(OpCode.ATTEND), "rows": int(RowKind.TOKENS), "target": 1},
        **{"source_width": WIDTH, "target_width": WIDTH, "num_heads": KV_HEADS * GROUPED_HEADS},
        **{"num_kv_heads": KV_HEADS, "head_dim": HEAD_DIM, "scale": 0.2, "bias_start": -1 if sinks is None else 0},
    }
    for name, value in (given | fields).items():
        operations[name] = value
    buffers = aligned_zeros((2 * num_tokens * WIDTH + 64,), np.float32)
    buffers[: num_tokens * WIDTH] = np.random.default_rng(1).standard_normal(num_tokens * WIDTH)
    buffers[num_tokens * WIDTH :] = np.nan
    none = np.zeros(0, np.int32)
    step = StepInputs(
        sizes=np.array([num_tokens, 0, len(groups) if is_grouped else len(tiles), 11], np.int64),
        token_ids=none,
        positions=batch.positions,
        rotary_rows=none,
        sequence_of_token=batch.sequence_of_token,
        block_tables=batch.block_tables,
        logit_rows=none,
        tiles=tiles,
        groups=groups if is_grouped else groups_of_one(len(tiles)),
        states=np.zeros((0, 7), np.int64),
        adapters=none,
        ends=batch.positions,
        is_given=none,
        given=np.zeros((0, 0), np.float32),
    )
    work = Workspace(
        floats=buffers,
        encoded=np.zeros(0, np.uint8),
        starts=np.array([0, num_tokens * WIDTH], np.int64),
        strides=np.zeros(2, np.int64),
        places=np.zeros((1, 2), np.int64),
        scratch=np.full(attention_scratch(HEAD_DIM), np.nan, np.float32),
        scratch_size=attention_scratch(HEAD_DIM),
        barrier=new_barrier(),
        tasks=np.zeros(4, np.int64),
    )
    _attend(operations, np.zeros(1, np.float32) if sinks is None else sinks, step, cache.arrays, work)
    result = buffers[num_tokens * WIDTH : 2 * num_tokens * WIDTH].reshape(num_tokens, WIDTH)
    assert np.isfinite(result).all()
    return result


# Attention is compiled for each format.
@pytest.mark.parametrize("cache_format", ["int8", *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)])
def test_sequences_that_share_blocks_get_the_bits_that_they_get_alone(cache_format):
    cache, batch = random_cache(cache_format), batch_of_two_prefixes()
    sinks = np.array([-3, 0, 0.5, 1, 2, 8], np.float32)
    windows = [0, 1, 40, 100, 333, 592, 700]  # of some the shared blocks have nothing, of others all
    for kind in [*({"window": window} for window in windows), {"softcap": 5.0}, {"sinks": sinks, "window": 250}]:
        expected = attention(cache, batch, is_grouped=False, **kind)
        assert (attention(cache, batch, is_grouped=True, **kind) == expected).all(), kind
    assert (expected != 0).mean() > 0.7


@pytest.fixture(scope="module")
def model():
    config = replace(LLAMA, max_context=512)
    model = model_from_tensors(config, random_tensors(config, seed=1), weights="int8", threads=1)
    yield model
    model.close()


def test_completions_behind_one_prefix_are_those_of_each_alone(model):
    prefix = [(11 * j + 5) % 197 for j in range(330)]
    params = [SamplingParams(max_tokens=10, temperature=1.0, seed=seed, num_logprobs=2) for seed in range(3)]
    dispatches = [
        Dispatch(number, f"{number:032x}", prefix + [number // 2] * (7 * (number // 2)), [], each, choice=number % 2)
        for number, each in enumerate(each for each in params for _ in range(2))
    ]
    alone = [run(make_engine(model), dispatch)[0] for dispatch in dispatches]
    engine = make_engine(model, cache_blocks=256, token_budget=340)
    together = run(engine, *dispatches)
    assert said(together) == said(alone)
    assert sum(outcome.cached_tokens >= 320 for outcome in together) >= 4, "they share blocks"

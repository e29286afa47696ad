"""Paged attention of every cache format against a literal float64 softmax, and its independence of the layout."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from numba import config

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.workers.engine.cache_cost import CacheCost
from cactus_actors.workers.engine.kv_cache import CacheShape, KVCache
from cactus_actors.workers.kernels.aligned_memory import aligned_zeros, round_up
from cactus_actors.workers.kernels.attention import attend
from cactus_actors.workers.kernels.attention_items import attention_scratch
from cactus_actors.workers.kernels.cache_formats import INT8_CACHES, cached_layers
from cactus_actors.workers.kernels.cache_stores import store_keys_values
from cactus_actors.workers.kernels.instruction_sets import usable_instruction_sets
from tests.support.models.for_python import kept_njit

FORMATS = ["float32", "float16", "int8"]
# Errors of scores and values relative to their sizes: rounding of sums, of half floats, of steps of 1/127.
TOLERANCES = {"float32": 2e-6, "float16": 2e-3, "int8": 2e-2}
LAYER = 1
ONE_LAYER = CacheShape(cached_layers([(1, 16)]))


@kept_njit(nogil=True)
def _store(cache, layer, table, first, rows, key_start, value_start, width):
    kv_heads, block_size = layer.num_heads, cache.states.shape[2]
    for row in range(len(rows) // width):
        position = first + row
        block, slot = table[0, position // block_size], position % block_size
        key, value = row * width + key_start, row * width + value_start
        for head in range(kv_heads):
            store_keys_values(cache, layer, block, slot, rows, key, value, head, head + 1)


@kept_njit(nogil=True)
def _attend(
    cache,
    layer,
    head,
    tables,
    queries,
    start,
    width,
    rows,
    heads,
    first,
    ends,
    window,
    scale,
    cap,
    sinks,
    first_sink,
    scratch,
    out,
    out_width,
):
    attend(
        cache,
        layer,
        head,
        tables,
        1,
        queries,
        start,
        width,
        rows,
        heads,
        first,
        ends,
        0,
        window,
        scale,
        cap,
        sinks,
        first_sink,
        scratch,
        16,
        out,
        start,
        out_width,
    )


class Case:
    """Random queries, keys and values of one sequence, stored in a cache whose other memory is poisoned."""

    def __init__(
        self,
        *,
        length=150,
        head_dim=64,
        kv_heads=2,
        group=3,
        block_size=16,
        cache_format="float32",
        seed=0,
        block_seed=0,
    ):
        generator = np.random.default_rng([seed, length, head_dim, group])
        self.head_dim, self.kv_heads, self.group, self.length = head_dim, kv_heads, group, length
        self.queries = generator.standard_normal((length, kv_heads * group, head_dim), dtype=np.float32)
        self.keys = generator.standard_normal((length, kv_heads, head_dim), dtype=np.float32)
        self.values = generator.standard_normal((length, kv_heads, head_dim), dtype=np.float32)
        self.scale = 1.5 / np.sqrt(head_dim)

        num_blocks = 2 * (-(-length // block_size)) + 1
        # The layers before and after it have other sizes.
        shape = CacheShape(cached_layers([(3, 40), (kv_heads, head_dim), (1, head_dim + 8)]))
        self.layer = shape.layers[LAYER]
        self.cache = KVCache.allocate(shape, num_blocks, block_size, cache_format)
        poison(self.cache)
        blocks = np.random.default_rng(block_seed).permutation(num_blocks).astype(np.int32)
        used = -(-length // block_size)
        # There are no blocks after the sequence's own: reading on would leave the cache.
        self.tables = np.full((2, used + 9), 2**30, dtype=np.int32)
        self.tables[1, :used] = blocks[:used]
        self.store(0, length)

    def store(self, first, last):
        size = self.kv_heads * self.head_dim
        width = round_up(2 * size, 64)
        rows = aligned_zeros((last - first, width), np.float32)
        rows[:, :size] = self.keys[first:last].reshape(last - first, size)
        rows[:, size : 2 * size] = self.values[first:last].reshape(last - first, size)
        _store(self.cache.arrays, self.layer, self.tables[1:], first, rows.reshape(-1), 0, size, width)

    def attend(self, first=0, last=None, *, rows=None, heads=None, window=0, softcap=0.0, sinks=None, ends=None):
        """(rows, heads, head_dim) of positions first..last-1, `rows` and `heads` at a time.

        `ends` has for every position the last one that it attends to, by default its own.
        """
        last = self.length if last is None else last
        ends = np.arange(self.length) if ends is None else ends
        rows, heads = rows or last - first, heads or self.group
        num_heads = self.kv_heads * self.group
        width = round_up(num_heads * self.head_dim, 64)
        queries = aligned_zeros((last - first, width), np.float32)
        queries[:, : num_heads * self.head_dim] = self.queries[first:last].reshape(last - first, -1)
        out = aligned_zeros((last - first, width + 64), np.float32)
        out[...] = 77
        scratch = aligned_zeros((16 + attention_scratch(self.head_dim) + 16,), np.float32)
        scratch[...] = np.nan
        for row in range(0, last - first, rows):
            for head in range(0, num_heads, heads):
                kv_head = head // self.group
                start = head * self.head_dim
                count = min(rows, last - first - row)
                _attend(
                    self.cache.arrays,
                    self.layer,
                    kv_head,
                    self.tables,
                    queries[row:].reshape(-1),
                    start,
                    width,
                    count,
                    min(heads, (kv_head + 1) * self.group - head),
                    first + row,
                    ends[first + row : last].astype(np.int32),
                    window,
                    self.scale,
                    softcap,
                    np.zeros(1, np.float32) if sinks is None else sinks,
                    -1 if sinks is None else head,
                    scratch,
                    out[row:].reshape(-1),
                    width + 64,
                )
        assert np.isnan(scratch[:16]).all()
        assert np.isnan(scratch[-16:]).all()
        assert (out[:, num_heads * self.head_dim :] == 77).all()
        return out[:, : num_heads * self.head_dim].reshape(last - first, num_heads, self.head_dim)

    def exact(self, *, window=0, softcap=0.0, sinks=None, ends=None):
        """Attention in float64, by the formula."""
        queries = self.queries.astype(np.float64)
        keys = np.repeat(self.keys, self.group, axis=1).astype(np.float64)
        values = np.repeat(self.values, self.group, axis=1).astype(np.float64)
        scores = np.einsum("qhd,khd->hqk", queries, keys) * self.scale
        if softcap:
            scores = softcap * np.tanh(scores / softcap)
        position = np.arange(self.length)
        seen = position[None, :] <= (position if ends is None else ends)[:, None]
        if window:
            seen &= position[None, :] > position[:, None] - window
        scores[:, ~seen] = -np.inf
        largest = scores.max(axis=-1, keepdims=True)
        weights = np.exp(scores - largest)
        sunk = 0 if sinks is None else np.exp(sinks.astype(np.float64)[:, None, None] - largest)
        weights /= weights.sum(axis=-1, keepdims=True) + sunk
        return np.einsum("hqk,khd->qhd", weights, values)


def poison(cache):
    """Memory of other sequences: NaN if the format has it, otherwise the extreme value."""
    for name, array in zip(cache.arrays._fields, cache.arrays, strict=True):
        if array.dtype == np.float32:
            array[...] = np.nan if name != "values" else np.inf
        elif array.dtype == np.uint16:
            array.view(np.float16)[...] = np.nan
        else:
            array[...] = 255  # scales are NaN


def assert_close(case, result, exact):
    bound = TOLERANCES[case.cache.format_name] * np.abs(case.values).max()
    assert np.abs(result - exact).max() <= bound


@pytest.mark.parametrize("cache_format", FORMATS)
@pytest.mark.parametrize("head_dim", [8, 16, 24, 64, 80, 96, 128, 256])
def test_attention_is_a_softmax_over_earlier_positions(head_dim, cache_format):
    case = Case(head_dim=head_dim, cache_format=cache_format)
    assert_close(case, case.attend(), case.exact())


@pytest.mark.parametrize("cache_format", FORMATS)
def test_attention_of_all_positions_to_all(cache_format):
    case = Case(head_dim=24, cache_format=cache_format, group=1)
    ends = np.full(case.length, case.length - 1)
    together = case.attend(ends=ends)
    assert_close(case, together, case.exact(ends=ends))
    for rows in (1, 7, 32):
        assert (case.attend(rows=rows, ends=ends) == together).all()


def test_bidirectional_positions_among_causal_ones():
    case = Case(head_dim=16)
    ends = np.arange(case.length)
    ends[30:75] = 74
    result = case.attend(rows=8, ends=ends)
    assert_close(case, result, case.exact(ends=ends))
    assert (result[:30] == case.attend()[:30]).all()


@pytest.mark.parametrize("group", range(1, 9))
def test_any_number_of_query_heads_shares_a_key_value_head(group):
    case = Case(group=group, head_dim=16, length=70)
    assert_close(case, case.attend(rows=5), case.exact())


@pytest.mark.parametrize("block_size", [1, 4, 16, 24, 32, 64])
def test_blocks_of_any_size_give_the_same_attention(block_size):
    case = Case(block_size=block_size, head_dim=16)
    assert_close(case, case.attend(), case.exact())


def test_whole_vectors_of_positions_give_the_same_bits_for_any_block_size():
    expected = Case(block_size=16).attend()
    for block_size in (32, 48, 128):
        assert (Case(block_size=block_size).attend() == expected).all()


@pytest.mark.parametrize("cache_format", FORMATS)
@pytest.mark.parametrize("window", [0, 1, 7, 40, 64, 1000])
@pytest.mark.parametrize("softcap", [0.0, 2.0, 50.0])
def test_the_window_and_the_soft_cap_apply(window, softcap, cache_format):
    case = Case(cache_format=cache_format, length=200, kv_heads=1)
    result = case.attend(window=window, softcap=softcap)
    assert_close(case, result, case.exact(window=window, softcap=softcap))


@pytest.mark.parametrize("cache_format", FORMATS)
@pytest.mark.parametrize("window", [0, 7, 64])
def test_sinks_take_a_share_of_the_attention_weights(window, cache_format):
    case = Case(cache_format=cache_format, length=170)
    sinks = np.array([-30, -1, 0, 0.5, 3, 30], np.float32)
    result = case.attend(window=window, sinks=sinks)
    assert_close(case, result, case.exact(window=window, sinks=sinks))
    for rows, heads in [(1, 1), (7, 3), (64, 1)]:
        assert (case.attend(rows=rows, heads=heads, window=window, sinks=sinks) == result).all()
    assert np.abs(result[:, 5]).max() < 1e-6, "next to everything sinks"


@pytest.mark.parametrize("cache_format", FORMATS)
@pytest.mark.parametrize("window", [0, 37])
@pytest.mark.parametrize("head_dim", [24, 64, 80])
def test_tiles_and_chunks_do_not_change_a_bit(head_dim, window, cache_format):
    case = Case(cache_format=cache_format, group=5, kv_heads=1, head_dim=head_dim)
    together = case.attend(window=window)
    for rows, heads in [(1, 1), (1, 5), (150, 1), (7, 2), (4, 5), (64, 3)]:
        assert (case.attend(rows=rows, heads=heads, window=window) == together).all()
    for first, last in [(0, 1), (17, 18), (63, 66), (149, 150), (40, 140)]:
        assert (case.attend(first, last, window=window) == together[first:last]).all()


@pytest.mark.parametrize("cache_format", FORMATS)
def test_block_ids_do_not_change_a_bit(cache_format):
    expected = Case(cache_format=cache_format).attend()
    for block_seed in (1, 2):
        assert (Case(cache_format=cache_format, block_seed=block_seed).attend() == expected).all()


@pytest.mark.parametrize("cache_format", FORMATS)
@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_later_positions_do_not_change_earlier_rows(cache_format, broken):
    case = Case(cache_format=cache_format)
    expected = case.attend()
    case.keys[100], case.values[100] = broken, broken
    case.store(100, 101)
    result = case.attend()
    assert (result[:100] == expected[:100]).all()
    assert not np.isfinite(result[100:]).any()


@pytest.mark.parametrize("cache_format", FORMATS)
def test_the_first_position_sees_only_itself(cache_format):
    case = Case(cache_format=cache_format, length=1)
    expected = np.repeat(case.values, case.group, axis=1)
    assert_close(case, case.attend(), expected)
    if cache_format == "float32":
        assert (case.attend() == expected).all()


@pytest.mark.parametrize("cache_format", FORMATS)
def test_scores_of_any_size_stay_finite(cache_format):
    case = Case(cache_format=cache_format)
    case.queries *= 1000
    result = case.attend()
    assert np.isfinite(result).all()
    # One position has all the weight, or shares it with one within the rounding of the format.
    assert (np.abs(result) <= np.abs(case.values).max() * 1.01).all()


@pytest.mark.parametrize("size", [0.0, 1e-42, 1e-20, 3e4])
def test_int8_scales_follow_the_stored_values(size):
    case = Case(cache_format="int8", length=40)
    case.values *= np.float32(size)
    case.store(0, case.length)
    bound = max(TOLERANCES["int8"] * np.abs(case.values).max(), 1e-30)
    assert np.abs(case.attend() - case.exact()).max() <= bound


@pytest.mark.parametrize("head_dim", [24, 64, 80])
def test_every_instruction_set_gives_the_same_bits(head_dim):
    case = Case(cache_format="int8", head_dim=head_dim, group=5)
    expected = [case.attend(), case.attend(rows=1), case.attend(window=37, softcap=20.0)]
    for instructions in usable_instruction_sets():
        case.cache = KVCache(INT8_CACHES[instructions](*case.cache.arrays))
        case.store(0, case.length)
        given = [case.attend(), case.attend(rows=1), case.attend(window=37, softcap=20.0)]
        assert all((a == b).all() for a, b in zip(given, expected, strict=True)), instructions.name


def test_an_outlier_in_one_key_costs_others_no_precision():
    case = Case(cache_format="int8", length=40)
    before = case.attend()
    case.keys[20] *= 1000
    case.store(20, 21)
    assert (case.attend(0, 20) == before[:20]).all()


def test_cache_sizes_follow_the_format():
    shape = CacheShape(cached_layers([(2, 80)] * 3), num_state_layers=2, state_size=40, slot_size=64)
    states = 2 * 16 * 48 * 4
    elements = 3 * 2 * 2 * 80 * 16
    sizes = {"float32": 4 * elements, "float16": 2 * elements, "int8": elements + 3 * 2 * 2 * 16 * 4}
    for cache_format, size in sizes.items():
        cache = KVCache.allocate(shape, 5, 16, cache_format, num_slots=3)
        cost = shape.cost(16, cache_format)
        assert cost == CacheCost(size + states, 64 * 4)
        assert cache.num_bytes == cost.bytes_of(5, 3) == 5 * (size + states) + 3 * 64 * 4
        assert (cache.num_blocks, cache.block_size, cache.format_name) == (5, 16, cache_format)
        assert all(array.ctypes.data % 64 == 0 for array in cache.arrays)


def test_layers_of_different_head_sizes_take_only_their_own_memory():
    layers = cached_layers([(4, 24), (1, 40), (2, 24)])
    assert [layer.heads_before for layer in layers] == [0, 4, 5]
    assert [layer.dims_before for layer in layers] == [0, 96, 136]
    assert [layer.columns_before for layer in layers] == [0, 128, 176]
    assert CacheShape(layers).cost(16, "float32") == CacheCost(4 * 16 * (184 + 240))


def test_an_unknown_cache_format_is_refused_with_the_known_ones():
    with pytest.raises(ConfigurationInvalid, match="float16"):
        KVCache.allocate(ONE_LAYER, 1, 16, "int3")


def test_float16_is_refused_without_an_instruction_that_converts_it(monkeypatch):
    monkeypatch.setattr(config, "CPU_FEATURES", "+sse2")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    with pytest.raises(ConfigurationInvalid, match="half floats"):
        KVCache.allocate(ONE_LAYER, 1, 16, "float16")
    KVCache.allocate(ONE_LAYER, 1, 16, "int8")

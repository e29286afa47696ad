"""Which sequences attend to common blocks together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.kernels.attention_items import GROUP
from cactus_actors.workers.runtime.attention_groups import AttentionGroups, groups_of_one
from tests.support.models.exactness_configs import LLAMA

BLOCK_SIZE = 16
PREFIX = list(range(100, 120))  # 320 positions


def config(heads_of_kv_head=2, kv_heads=2):
    return replace(LLAMA, num_heads=heads_of_kv_head * kv_heads, num_kv_heads=kv_heads)


def batch_of(*tables, num_tokens=None, positions=None):
    """Sequences with these blocks; each has one token, in its last block."""
    num_tokens = num_tokens or [1] * len(tables)
    positions = positions or [
        len(table) * BLOCK_SIZE - 5 - count for table, count in zip(tables, num_tokens, strict=True)
    ]
    block_tables = np.zeros((len(tables), max(map(len, tables))), np.int32)
    for row, table in enumerate(tables):
        block_tables[row, : len(table)] = table
    total = sum(num_tokens)
    spans = [np.arange(first, first + count) for first, count in zip(positions, num_tokens, strict=True)]
    return Batch(
        token_ids=np.zeros(total, np.int32),
        positions=np.concatenate(spans).astype(np.int32),
        sequence_of_token=np.repeat(np.arange(len(tables)), num_tokens).astype(np.int32),
        block_tables=block_tables,
        logit_rows=np.arange(total, dtype=np.int32),
    )


def grouped(batch, *, threads=1, **sizes):
    """[(first tokens of the tiles, shared blocks)] of the groups of several tiles, and the other tiles' tokens."""
    tiles, groups = AttentionGroups(config(**sizes), threads).of(batch, BLOCK_SIZE)
    tokens = [token for first, end in tiles.tolist() for token in range(first, end)]
    assert sorted(tokens) == list(range(len(batch.token_ids))), "each token is in one tile"
    assert [first for first, _, _ in groups.tolist()] == [0, *groups[:-1, 1].tolist()], "each tile is in one group"
    assert groups[-1, 1] == len(tiles)
    together, alone = [], []
    for first, end, blocks in groups.tolist():
        if end - first > 1:
            num_tokens = (tiles[first:end, 1] - tiles[first:end, 0]).sum()
            assert num_tokens * sizes.get("heads_of_kv_head", 2) <= GROUP, "the scratch memory of a thread"
            together.append((sorted(tiles[first:end, 0].tolist()), blocks))
        else:
            alone.append(tuple(tiles[first].tolist()))
    return sorted(together), alone


def test_sequences_that_share_nothing_are_alone_and_in_order():
    batch = batch_of([*range(30)], [*range(40, 70)], [*range(80, 110)], num_tokens=[1, 19, 2])
    tiles, groups = AttentionGroups(config(), 2).of(batch, BLOCK_SIZE)
    assert tiles.tolist() == [[0, 1], [1, 9], [9, 17], [17, 20], [20, 22]]
    assert (groups == groups_of_one(5)).all()


def test_sequences_behind_one_prefix_are_together():
    batch = batch_of([*PREFIX, 1], [*range(200, 230)], [*PREFIX, 2, 3], [*PREFIX, 4])
    assert grouped(batch) == ([([0, 2, 3], 20)], [(1, 2)])


def test_short_sequences_between_those_of_a_prefix_are_alone():
    batch = batch_of([*PREFIX, 1], [50, 51], [*PREFIX, 2], [60], PREFIX[:10])
    assert grouped(batch) == ([([0, 2], 20)], [(1, 2), (3, 4), (4, 5)])


def test_a_prefix_of_a_few_blocks_is_not_worth_it():
    assert grouped(batch_of([*PREFIX[:15], 1], [*PREFIX[:15], 2])) == ([], [(0, 1), (1, 2)])
    assert grouped(batch_of([*PREFIX[:16], 1], [*PREFIX[:16], 2]))[0] == [([0, 1], 16)]


def test_long_chunks_of_prompts_are_alone_and_drafts_are_not():
    batch = batch_of(*([*PREFIX, each, each + 50] for each in range(3)), num_tokens=[1, 12, 4])
    assert grouped(batch) == ([([0, 13], 20)], [(1, 9), (9, 13)])


def test_groups_of_many_drafts_are_smaller():
    num_tokens = [1, 8, 8, 7, 1, 1, 2, 8, 1]
    together, _ = grouped(batch_of(*([*PREFIX, each, each + 50] for each in range(9)), num_tokens=num_tokens))
    assert sum(len(first_tokens) for first_tokens, _ in together) >= 7


def test_forks_with_more_in_common_are_together():
    deep = [*PREFIX, *range(300, 330)]
    tables = [[*PREFIX, 1], [*deep, 2], [*PREFIX, 3], [*deep, 4], [*deep, 5]]
    assert grouped(batch_of(*tables)) == ([([0, 2], 20), ([1, 3, 4], 50)], [])
    nearly = [[*PREFIX, *each] for each in ([1], [2, 3, 4], [2, 3, 5], [6])]
    assert grouped(batch_of(*nearly)) == ([([0, 1, 2, 3], 20)], [])


def test_blocks_after_the_tokens_of_a_sequence_do_not_count():
    table = [*PREFIX, 0, 0]
    assert grouped(batch_of(table, [*table], positions=[330, 345]))[0] == [([0, 1], 20)]
    assert grouped(batch_of(table, [*table], positions=[255, 345]))[0] == []
    short = batch_of([0] * 30, [1], [2])  # unused entries are 0
    assert grouped(short) == ([], [(0, 1), (1, 2), (2, 3)])


@pytest.mark.parametrize("threads", [1, 2, 64])
@pytest.mark.parametrize(("heads_of_kv_head", "kv_heads"), [(3, 3), (1, 8), (12, 1)])
@pytest.mark.parametrize("count", [2, 16, 41])
def test_large_sets_are_divided_evenly_as_far_as_threads_and_memory_ask(threads, heads_of_kv_head, kv_heads, count):
    batch = batch_of(*([*PREFIX, each] for each in range(count)))
    together, alone = grouped(batch, threads=threads, heads_of_kv_head=heads_of_kv_head, kv_heads=kv_heads)
    sizes = [len(members) for members, _ in together]
    assert sum(sizes) + len(alone) == count
    assert len(alone) <= 1
    assert max(sizes) <= 3 or len(together) * kv_heads >= 2 * threads
    assert max(sizes) - min(sizes) <= 1


def test_heads_beyond_the_memory_of_a_group_attend_alone():
    batch = batch_of(*([*PREFIX, each] for each in range(4)))
    assert grouped(batch, heads_of_kv_head=17)[0] == []
    assert grouped(batch, heads_of_kv_head=71, kv_heads=1)[0] == []

"""Models that are refused before they run, and threads that sleep between steps."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from cactus_actors.protocol.errors import ConfigurationInvalid, ModelFileInvalid
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.registry import family_named
from cactus_actors.workers.kernels.aligned_memory import aligned_zeros
from cactus_actors.workers.kernels.barrier import follow, new_barrier, next_task, notify, wait, wait_for
from cactus_actors.workers.kernels.thread_team import ThreadTeam
from cactus_actors.workers.loading.load_model import model_from_tensors, random_model
from cactus_actors.workers.loading.packing import pack
from cactus_actors.workers.loading.random_weights import parse_random_spec, random_tensors
from cactus_actors.workers.runtime.layout import Arenas, WeightLayout
from tests.support.models.for_python import kept_njit

SPEC = "llama:hidden=60,ffn=172,layers=3,heads=6,kv_heads=3,head_dim=20,vocab=131,context=256,tied=0"
CONFIG = parse_random_spec(SPEC)


def tensors(**changes):
    """Valid tensors with some replaced; None removes one. A name has _ in place of a dot."""
    valid = dict(random_tensors(CONFIG, 1))
    names = {name.replace(".", "_"): name for name in valid}
    for name, value in changes.items():
        valid.pop(names[name])
        if value is not None:
            valid[names[name]] = value
    return valid


@pytest.mark.parametrize("weights", ["float32", "int8"])
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"layers_1_self_attn_k_proj": None}, "layers.1.self_attn.k_proj"),
        ({"norm": np.ones(61, np.float32)}, "norm"),
        ({"layers_2_mlp_down_proj": np.ones((60, 173), np.float32)}, "layers.2.mlp.down_proj"),
        ({"lm_head": np.full((131, 60), np.nan, np.float32)}, "lm_head"),
        ({"embed_tokens": np.full((131, 60), -np.inf, np.float32)}, "embed_tokens"),
    ],
)
def test_a_bad_tensor_is_named(weights, changes, named):
    with pytest.raises(ModelFileInvalid, match=named):
        model_from_tensors(CONFIG, tensors(**changes), weights=weights, threads=1)


@pytest.mark.parametrize("weights", ["float32", "int8", "int4"])
def test_a_large_embedding_is_packed_in_parts(weights):
    config = parse_random_spec("llama:hidden=8,ffn=8,layers=1,heads=1,kv_heads=1,head_dim=8,vocab=33000")
    graph, source = build_graph(family_named(config.family), config), random_tensors(config, 1)
    layout = WeightLayout.for_weights(graph, weights)
    embedding = graph.matrices[0]
    whole = aligned_zeros((layout.head.num_bytes(embedding.num_rows, embedding.num_columns),), np.uint8)
    layout.head.pack(source["embed_tokens"], whole)
    for given in (source, dict(source)):
        arenas = Arenas.empty(layout)
        pack(graph, layout, given, arenas)
        start = layout.start_of(embedding)
        assert np.array_equal(arenas.head[start : start + len(whole)], whole)
    late = source["embed_tokens"].copy()
    late[32999, 7] = np.inf
    with pytest.raises(ModelFileInvalid, match="embed_tokens"):
        pack(graph, layout, dict(source) | {"embed_tokens": late}, arenas)


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("gpt:hidden=1", "llama"),
        (SPEC.replace("ffn=172,", ""), "ffn"),
        (SPEC.replace("ffn=172", "ffn=-1"), "ffn"),
        (SPEC + ",width=3", "width"),
    ],
)
def test_an_invalid_spec_is_refused_with_its_key(spec, named):
    with pytest.raises(ConfigurationInvalid, match=named):
        random_model(spec, weights="float32", threads=1)


@pytest.mark.parametrize(
    ("spec", "threads", "error"),
    [
        (SPEC.replace("kv_heads=3", "kv_heads=4"), 1, ModelFileInvalid),
        (SPEC.replace("head_dim=20", "head_dim=19"), 1, ModelFileInvalid),
        (SPEC, 0, ConfigurationInvalid),
    ],
)
def test_an_unsupported_shape_is_refused(spec, threads, error):
    with pytest.raises(error):
        random_model(spec, weights="float32", threads=threads)


@pytest.mark.parametrize(
    ("weights", "kv_cache", "cache_format"),
    [
        ("float32", "auto", "float32"),
        ("bfloat16", "auto", "float16"),
        ("int8", "auto", "int8"),
        pytest.param("float32", "int8", "int8", marks=pytest.mark.slow),
        pytest.param("int8", "float32", "float32", marks=pytest.mark.slow),
    ],
)
def test_a_cache_has_the_format_of_its_model(weights, kv_cache, cache_format):
    model = random_model(SPEC, weights=weights, kv_cache=kv_cache, threads=1)
    model.close()
    cache = model.new_cache(5, 32)
    assert (cache.format_name, cache.num_blocks, cache.block_size) == (cache_format, 5, 32)
    assert len(model.cache_shape.layers) == CONFIG.num_layers
    assert cache.num_bytes == 5 * model.cache_cost(32).block_bytes


@kept_njit(nogil=True)
def _count_together(rank, size, signal, seen, barrier, counts, done, faults, data):
    while True:
        if rank == 0:
            notify(signal)
        else:
            seen = follow(signal, seen)
            if seen < 0:
                return
        for number in range(len(counts)):
            counts[number, rank] += 1
            next_task(done, number)
            wait_for(done, number, size * counts[number, rank], data, 0, len(data))
            for other in range(size):
                faults[rank] += counts[number, other] != counts[number, rank]
            wait(barrier, size)
        if rank == 0:
            return


def test_threads_of_a_team_see_each_others_writes_after_a_wait():
    barrier, counts, faults = new_barrier(), np.zeros((100, 3), np.int64), np.zeros(3, np.int64)
    done, data = np.zeros(100, np.int64), np.zeros(1000, np.uint8)
    _count_together(0, 1, new_barrier(), 0, barrier, counts[:, :1].copy(), done.copy(), faults, data)
    _count_together.compile(_count_together.signatures[0])
    team = ThreadTeam(3, _count_together)
    for _ in range(5):
        team.run(barrier, counts, done, faults, data)
    others, others_done = np.zeros_like(counts), np.zeros_like(done)
    for pause_s in (0.0, 0.01):  # spinning and asleep
        threading.Event().wait(pause_s)
        team.run(barrier, others, others_done, faults, data)
    team.run(barrier, counts, done, faults, data)
    team.close()
    assert (counts == 6).all()
    assert (others == 2).all()
    assert (faults == 0).all()


def test_threads_use_no_processor_time_between_steps():
    model = random_model(SPEC, weights="float32", threads=3)
    before = time.process_time()
    threading.Event().wait(0.2)
    burnt = time.process_time() - before
    model.close()
    assert burnt < 0.1

"""The in-process benchmark measures the requested work."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.errors import ConfigurationInvalid, ContextExceeded
from cactus_actors.workers.engine_bench import run_bench

SPEC = "llama:hidden=56,ffn=100,layers=2,heads=4,kv_heads=2,head_dim=16,vocab=199,context=128"


def test_there_is_one_record_per_batch_size() -> None:
    records = list(
        run_bench(
            random=SPEC,
            weights="float32",
            batches=[1, 3],
            prompt_tokens=20,
            decode_tokens=6,
            token_budget=16,
            num_rounds=2,
        )
    )
    assert [record.batch for record in records] == [1, 3]
    for record in records:
        assert (record.prompt_tokens, record.decode_tokens) == (20, 6)
        assert record.prefill_tokens_per_second > 0
        in_steps = record.batch / record.decode_tokens_per_second * 1000
        assert record.step_ms_p50 == pytest.approx(in_steps, rel=3)
        assert 0 < record.share_outside_kernels < 1
        assert record.resident_mb > 10
        assert (record.threads, record.weights) == (1, "float32")
        assert record.kernels


def test_batches_beyond_the_context_are_refused() -> None:
    with pytest.raises(ContextExceeded):
        next(run_bench(random=SPEC, weights="float32", prompt_tokens=120, decode_tokens=20))


def test_an_invalid_shape_is_refused() -> None:
    with pytest.raises(ConfigurationInvalid):
        next(run_bench(random="llama:hidden=x", weights="float32"))

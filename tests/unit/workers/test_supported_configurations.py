"""The table of supported and refused keys: every refusal of a reader of config.json is in it, by its key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.workers.families import llama
from cactus_actors.workers.families.registry import FAMILIES
from cactus_actors.workers.spec.model_config import ModelConfig
from docs.generate.config_values import ABSENT, TRIALS, TRIALS_OF_PICTURES, Trial, always, trial
from docs.generate.gguf_values import TRIALS_OF_GGUF
from docs.generate.model_configs import Outcome, outcome_of, reader_of_json
from docs.generate.model_memory import memory_rows
from tests.support.paths import ROOT

REQUIRED = re.compile(r'require_one_of\(\s*"(\w+)"|\.require\([^\n]*?, "(\w+)", |keys\.boolean\("(\w+)"')
SIZES_AND_NAMES = {
    "block_auto_adjust_ff_dim",
    "block_count",
    "conv_kernel_size",
    "do_normalize",
    "do_rescale",
    "expert_count",
    "global_head_dim",
    "image_std",
    "image_token_id",
    "mamba_d_head",
    "mamba_n_heads",
    "model_type",
    "mtp_num_hidden_layers",
    "mtp_use_dedicated_embeddings",
    "num_attention_heads",
    "num_experts",
    "pad_token_id",
    "padding_token_id",
    "truncate",
    "type",
    "use_gelu",
    "use_silu",
    "vocab_size",
}
"""Keys that the tests of single families try."""


def known_keys() -> set[str]:
    trials = (*TRIALS, *TRIALS_OF_PICTURES, *TRIALS_OF_GGUF)
    return {part for each in trials for part in (*each.key.split("."), *each.names)}


def test_every_key_that_a_family_refuses_is_in_the_table() -> None:
    sources = [*(ROOT / "workers/families").glob("*.py"), *(ROOT / "workers/spec").glob("*.py")]
    refused = {key for path in sources for found in REQUIRED.findall(path.read_text()) for key in found if key}
    assert {"hidden_act", "conv_bias", "attn_output_gate"} <= refused
    assert sorted(refused - known_keys() - SIZES_AND_NAMES) == []


LLAMA = reader_of_json(llama.FAMILY)


def test_an_outcome_lists_supported_and_refused_keys() -> None:
    activations = trial("hidden_act", "silu", "gelu", ABSENT)
    assert outcome_of(LLAMA, activations) == Outcome(("`silu`", "absent"), ("`gelu`",))
    assert outcome_of(LLAMA, trial("no_such_key", 1, 2)) is None
    beside = Trial("no_such_key", {"1": always({"no_such_key": 1})}, {"hidden_act": "relu"})
    assert outcome_of(LLAMA, beside) is None, "a model with what stands beside is refused"


def test_a_refusal_without_the_key_is_no_outcome() -> None:
    def read(keys: Mapping[str, Any]) -> ModelConfig:
        if keys.get("mlp_bias"):
            raise ModelFileInvalid("config.json: cannot be read")
        return LLAMA.read(keys)

    assert outcome_of(LLAMA, trial("mlp_bias", True, False)) is not None
    with pytest.raises(AssertionError, match="refuses mlp_bias true without its key"):
        outcome_of(replace(LLAMA, read=read), trial("mlp_bias", True, False))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_no_family_takes_code_or_quantised_weights(family) -> None:
    for key in ("auto_map", "quantization_config.quant_method"):
        [found] = [each for each in TRIALS if each.key == key]
        outcome = outcome_of(reader_of_json(family), found)
        assert outcome is not None
        assert outcome.refused == ("others",)


def test_the_memory_of_a_prefix_is_that_of_its_blocks_and_checkpoints() -> None:
    rows = {row[0]: row for row in memory_rows()}
    scale = 4  # bytes, of a head's int8 numbers at a position
    kib = 16 * (6 * 2 * 8 * (64 + scale) + 10 * 2048 * 4) / 1024
    assert rows["LFM2 1.2B"][2:] == (f"{kib:.0f} KiB", "-", f"{kib * 256 / 1024:.0f} MiB")
    block = 16 * 6 * 2 * 2 * (256 + scale)
    state = 4 * 18 * (3 * (2 * 16 * 128 + 16 * 128) + 16 * 128 * 128)
    assert rows["Qwen3.5 0.8B"][2:] == (
        f"{block / 1024:.0f} KiB",
        f"{state / 2**20:.1f} MiB",
        f"{(256 * block + 16 * state) / 2**20:.0f} MiB",
    )

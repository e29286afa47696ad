"""The memory of a cached prefix, for the page of model configurations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cactus_actors.config import WorkerSettings
from cactus_actors.workers.families.family import build_graph
from cactus_actors.workers.families.registry import family_of_architectures
from cactus_actors.workers.runtime.cache_shape import cache_shape_of
from cactus_actors.workers.spec.config_keys import ConfigKeys

_SETTINGS = WorkerSettings(worker_id="", model="")
_PREFIX = 4096
_KIB, _MIB = 2**10, 2**20
MEMORY = """\
## Memory of a cached prefix

A prefix in the prefix cache takes blocks of 16 tokens, and for models with recurrences checkpoints:

- **A block** has the keys and values of 16 tokens, for each layer with attention that stores its own:
  2 · `num_key_value_heads` · `head_dim` numbers a token, of 4 bytes in float32, 2 in float16, 1 in int8 (and 8 bytes of
  scales for each head). Each short convolution of LFM2, LFM2 MoE and LFM3 has its input in it: `hidden_size` numbers of
  4 bytes per token, in every format of the cache. Head sizes of values and widths of convolutions are rounded up to 16.
- **A checkpoint** has the state of all recurrences at one position, in numbers of 4 bytes. A delta net (Qwen3.5) has
  `linear_num_value_heads` · `linear_key_head_dim` · `linear_value_head_dim`, a Mamba-2 layer (Granite 4)
  `mamba_n_heads` · `mamba_d_state` · `mamba_d_head`; sizes of value heads are rounded up to 32. The convolution before
  either has `linear_conv_kernel_dim` or `mamba_d_conv`, minus 1, numbers for each of its channels, whose number is
  rounded up to 256. There is one checkpoint every `checkpoint_tokens` tokens, and one at the last block of a prompt.

So a prefix of n tokens takes n / 16 blocks and n / 256 checkpoints, with the default of `checkpoint_tokens`. Each
running sequence takes a state of the size of a checkpoint, too.

The sizes of some models, with keys and values in int8, as the code computes them (`workers/runtime/cache_shape.py`).
The shape is the number of layers with attention x key-value heads x head size, and that of the others:"""


@dataclass(frozen=True, slots=True)
class SizedModel:
    """A model of the table: its config.json, and its shape in words."""

    name: str
    architecture: str
    shape: str
    keys: Mapping[str, Any]


def _attention_at(*indices: int, of: int, others: str, attention: str = "full_attention") -> list[str]:
    return [attention if index in indices else others for index in range(of)]


_LFM2 = {"hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65536}
_MODELS = (
    SizedModel(
        "LFM2 1.2B",
        "Lfm2ForCausalLM",
        "6 x 8 x 64, 10 convolutions",
        {**_LFM2, "num_hidden_layers": 16, "full_attn_idxs": [2, 5, 8, 10, 12, 14], "intermediate_size": 12288},
    ),
    SizedModel(
        "LFM2 8B-A1B",
        "Lfm2MoeForCausalLM",
        "6 x 8 x 64, 18 convolutions",
        {
            **_LFM2,
            "num_hidden_layers": 24,
            "layer_types": _attention_at(2, 6, 10, 14, 18, 21, of=24, others="conv"),
            "intermediate_size": 7168,
        },
    ),
    SizedModel(
        "LFM3 1.7B",
        "Lfm3ForCausalLM",
        "11 x 4 x 128, 13 convolutions",
        {
            "hidden_size": 2048,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "intermediate_size": 8192,
            "vocab_size": 65536,
        },
    ),
    SizedModel(
        "Granite 4.0 H Tiny",
        "GraniteMoeHybridForCausalLM",
        "4 x 4 x 128, 36 Mamba-2",
        {
            "hidden_size": 1536,
            "num_hidden_layers": 40,
            "num_attention_heads": 12,
            "num_key_value_heads": 4,
            "intermediate_size": 512,
            "shared_intermediate_size": 1024,
            "num_local_experts": 64,
            "num_experts_per_tok": 6,
            "vocab_size": 100352,
            "mamba_d_state": 128,
            "mamba_n_heads": 48,
            "mamba_d_head": 64,
            "layer_types": _attention_at(5, 15, 25, 35, of=40, others="mamba", attention="attention"),
        },
    ),
    SizedModel(
        "Qwen3.5 0.8B",
        "Qwen3_5ForCausalLM",
        "6 x 2 x 256, 18 delta nets",
        {
            "hidden_size": 1024,
            "num_hidden_layers": 24,
            "num_attention_heads": 8,
            "num_key_value_heads": 2,
            "linear_num_value_heads": 16,
            "intermediate_size": 3584,
        },
    ),
    SizedModel("Qwen3.5 9B", "Qwen3_5ForCausalLM", "8 x 4 x 256, 24 delta nets", {}),
    SizedModel("Qwen3.5 35B-A3B", "Qwen3_5MoeForCausalLM", "10 x 2 x 256, 30 delta nets", {}),
    SizedModel(
        "Qwen3 0.6B, for comparison",
        "Qwen3ForCausalLM",
        "28 x 8 x 128",
        {
            "hidden_size": 1024,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "intermediate_size": 3072,
            "vocab_size": 151936,
        },
    ),
)


def memory_rows() -> Iterator[tuple[str, ...]]:
    """The rows of the table, the heading first."""
    yield "model", "shape", "block", "checkpoint", f"prefix of {_PREFIX} tokens"
    for model in _MODELS:
        path = Path("config.json")
        family = family_of_architectures(path, [model.architecture])
        graph = build_graph(family, family.read_json(ConfigKeys(path, model.keys)))
        block_size = _SETTINGS.block_size
        cost = cache_shape_of(graph).cost(block_size, "int8")
        whole = cost.bytes_of(_PREFIX // block_size, _PREFIX // _SETTINGS.checkpoint_tokens)
        state = f"{cost.state_bytes / _MIB:.1f} MiB" if cost.state_bytes else "-"
        yield model.name, model.shape, f"{cost.block_bytes / _KIB:.0f} KiB", state, f"{whole / _MIB:.0f} MiB"

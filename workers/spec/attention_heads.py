"""Numbers and sizes of attention heads, as config.json and GGUF metadata give them."""

from __future__ import annotations

from typing import NamedTuple

from cactus_actors.models.checked_files import invalid
from cactus_actors.workers.spec.config_keys import ConfigKeys

KV_HEADS = "attention.head_count_kv"


class AttentionHeads(NamedTuple):
    """The heads of one layer or of all: `num_heads` is a multiple of `num_kv_heads`, `head_dim` is even."""

    num_heads: int
    num_kv_heads: int
    head_dim: int

    @property
    def query_size(self) -> int:
        """Width of the queries of all heads."""
        return self.num_heads * self.head_dim

    @property
    def kv_size(self) -> int:
        """Width of the keys of all key-value heads, and of the values."""
        return self.num_kv_heads * self.head_dim


def heads_from_json(keys: ConfigKeys) -> AttentionHeads:
    """The heads of a config.json."""
    return _heads(keys, "num_attention_heads", "num_key_value_heads", "head_dim", "hidden_size")


def heads_from_gguf(keys: ConfigKeys) -> AttentionHeads:
    """The heads of a GGUF file."""
    return _heads(keys, "attention.head_count", KV_HEADS, "attention.key_length", "embedding_length")


def _heads(keys: ConfigKeys, count_key: str, kv_key: str, size_key: str, width_key: str) -> AttentionHeads:
    num_heads = keys.integer(count_key, "num_heads")
    num_kv_heads = keys.integer(kv_key, "num_kv_heads", num_heads)
    count = f"{keys.prefix}{count_key} is {num_heads}"
    if num_heads % num_kv_heads:
        shared = f"{keys.prefix}{kv_key} is {num_kv_heads}"
        raise invalid(keys.path, f"{count} and {shared}: heads cannot share these key/value heads evenly")
    width = keys.integer(width_key, "hidden_size")
    derived = width // num_heads
    if keys.get(size_key) is None and (derived < 2 or derived % 2):
        raise invalid(
            keys.path,
            f"{count} and {keys.prefix}{width_key} is {width}: heads of {derived} lanes, rotary embedding needs pairs",
        )
    head_dim = keys.integer(size_key, "head_dim", derived)
    if head_dim % 2:
        raise invalid(keys.path, f"{keys.prefix}{size_key} is {head_dim}: rotary embedding needs pairs")
    return AttentionHeads(num_heads, num_kv_heads, head_dim)


def attention_layers_of_gguf(keys: ConfigKeys) -> tuple[list[bool], int]:
    """True for each layer with attention, and the number of their key-value heads."""
    num_layers = keys.integer("block_count", "num_layers")
    given = keys.get(KV_HEADS)  # one for each layer, unless all have the same
    counts = given if isinstance(given, list) else [given] * num_layers
    heads = {count for count in counts if count != 0}
    is_valid = len(counts) == num_layers and len(heads) == 1 and all(type(count) is int for count in counts)
    keys.require(is_valid, KV_HEADS, f"0 or one number for each of {num_layers} layers")
    return [count > 0 for count in counts], heads.pop()

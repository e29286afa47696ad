"""The heads of recurrent layers as config.json and GGUF metadata describe them."""

from __future__ import annotations

from cactus_actors.workers.spec.config_keys import ConfigKeys
from cactus_actors.workers.spec.model_config import RecurrentHeads


def recurrent_heads_from_gguf(keys: ConfigKeys) -> RecurrentHeads:
    """The keys below `ssm.`, which delta nets and Mamba-2 share."""
    num_value_heads = keys.integer("ssm.time_step_rank", "num_heads")
    width = keys.integer("ssm.inner_size", "hidden_size")
    keys.require(width % num_value_heads == 0, "ssm.inner_size", f"multiples of the {num_value_heads} heads")
    heads = RecurrentHeads(
        num_key_heads=keys.integer("ssm.group_count", "num_heads"),
        key_dim=keys.integer("ssm.state_size", "head_dim"),
        num_value_heads=num_value_heads,
        value_dim=width // num_value_heads,
    )
    return checked(keys, heads, "ssm.time_step_rank")


def checked(keys: ConfigKeys, heads: RecurrentHeads, key: str) -> RecurrentHeads:
    """The heads, if each key head is shared by as many value heads; `key` has the number of these."""
    is_shared = heads.num_value_heads % heads.num_key_heads == 0
    keys.require(is_shared, key, f"multiples of the {heads.num_key_heads} key heads")
    return heads

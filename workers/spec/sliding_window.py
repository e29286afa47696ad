"""Sliding windows of layers, from config.json and GGUF metadata."""

from __future__ import annotations

from collections.abc import Callable

from cactus_actors.workers.spec.config_keys import ConfigKeys

KINDS = ("full_attention", "sliding_attention")


def window_from_json(keys: ConfigKeys) -> int:
    """`sliding_window`, 0 where there is none."""
    return 0 if keys.get("sliding_window") is None else keys.integer("sliding_window", "max_context")


def windows_from_json(keys: ConfigKeys, window: int, slides: Callable[[int], bool]) -> list[int]:
    """The window of each layer, 0 for all positions: by `layer_types`, else by `slides` of its index."""
    num_layers = keys.integer("num_hidden_layers", "num_layers")
    if keys.get("layer_types") is None:
        is_sliding = [slides(index) for index in range(num_layers)]
    else:
        kinds = keys.strings("layer_types", num_layers)
        keys.require(set(kinds) <= set(KINDS), "layer_types", " and ".join(KINDS))
        is_sliding = [kind == "sliding_attention" for kind in kinds]
    keys.require(window > 0 or not any(is_sliding), "sliding_window", "a number, as some layers need it")
    return [window if each else 0 for each in is_sliding]


def window_from_gguf(keys: ConfigKeys, default: int = 0) -> int:
    """`attention.sliding_window`, 0 where there is none."""
    key = "attention.sliding_window"
    return 0 if keys.get(key) == 0 else keys.integer(key, "window", default)


def windows_from_gguf(keys: ConfigKeys, window: int, period: int) -> list[int]:
    """The window of each layer: of `period` layers the last sees all positions, if no pattern is given."""
    num_layers = keys.integer("block_count", "num_layers")
    key = "attention.sliding_window_pattern"
    pattern = keys.get(key)
    if isinstance(pattern, list):
        keys.require(
            len(pattern) == num_layers and all(each in (0, 1) for each in pattern),
            key,
            "true or false for each layer",
        )
        return [window if slides else 0 for slides in pattern]
    period = keys.integer(key, "num_layers", period)
    return [window if (index + 1) % period else 0 for index in range(num_layers)]

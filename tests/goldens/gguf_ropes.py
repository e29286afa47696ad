"""The rotary embeddings of a config.json, for GGUF files."""

from __future__ import annotations

from typing import Any


def rope_parameters(config: dict[str, Any]) -> dict[str, Any]:
    """Bases and scaling (of the global layers if there are two kinds), in any spelling of config.json."""
    newer = config.get("rope_parameters") or {}
    found = {
        "rope_theta": config.get("rope_theta", 10000.0),
        "rope_local_base_freq": newer.get("sliding_attention", {}).get(
            "rope_theta", config.get("rope_local_base_freq", 10000.0)
        ),
        **(config.get("rope_scaling") or {}),
        **newer.get("full_attention", newer),
    }
    return {"rope_type": found.get("type", "default"), **found}

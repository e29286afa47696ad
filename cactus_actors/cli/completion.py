"""Words that the shell completes: models of this machine."""

from __future__ import annotations


def model_names(incomplete: str) -> list[str]:
    """The embedded models and those in the cache of the hub that begin so; the shell itself completes files."""
    from cactus_actors.models.catalog import list_models
    from cactus_actors.models.hub_cache import cached_models

    known = [*list_models(), *(str(model) for model, _ in cached_models())]
    return [name for name in known if name.startswith(incomplete)]

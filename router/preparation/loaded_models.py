"""The text sides of the service's models, loaded by the router when it starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cactus_actors.config import RouterSettings
from cactus_actors.config_models import RoutedModel
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.confidence_fits import fits_for, gate_probe
from cactus_actors.protocol.confidence import SignalFits
from cactus_actors.protocol.model_overrides import ModelOverrides
from cactus_actors.protocol.prompt_probe import PromptProbe
from cactus_actors.router.preparation.prompt_model import PromptModel
from cactus_actors.router.state.served_model import ServedModel
from cactus_actors.text import load_text_model


@dataclass(frozen=True)
class LoadedModel:
    """The text side of a model; one without a path exists in this process only.

    `routed` are its settings in a service of several models, None for the only one.
    """

    text: PromptModel
    path: Path | None
    overrides: ModelOverrides
    fits: SignalFits
    prompt_probe: PromptProbe | None = None
    routed: RoutedModel | None = None

    @property
    def name(self) -> str:
        return "" if self.routed is None else self.routed.name


def load_models(settings: RouterSettings, text_model: PromptModel | None = None) -> list[LoadedModel]:
    """Load the models of the service; `text_model` replaces that of the only one.

    Raises ModelFileInvalid, ConfigurationInvalid.
    """
    if settings.models:
        return [_load_routed(routed, settings) for routed in settings.models]
    path = None if text_model is not None else resolve_model(settings.model)
    text = text_model or load_text_model(resolve_model(settings.model), settings.overrides)
    fits = fits_for(settings.confidence_signal, path, settings.probe_file, settings.probability_file)
    prompt_probe = gate_probe(settings.gate, path, text.fingerprint, settings.prompt_probe_file)
    return [LoadedModel(text, path, settings.overrides, fits, prompt_probe)]


def served_models(models: list[LoadedModel]) -> tuple[ServedModel, ...]:
    """The models of a service of several, for its core; empty for one model."""
    return tuple(_served(loaded, loaded.routed) for loaded in models if loaded.routed is not None)


def _load_routed(routed: RoutedModel, settings: RouterSettings) -> LoadedModel:
    path = resolve_model(routed.model)
    text = load_text_model(path, routed.overrides)
    fits = fits_for(settings.confidence_signal, path, routed.probe_file, routed.probability_file)
    prompt_probe = gate_probe(settings.gate, path, text.fingerprint, routed.prompt_probe_file)
    return LoadedModel(text, path, routed.overrides, fits, prompt_probe, routed)


def _served(loaded: LoadedModel, routed: RoutedModel) -> ServedModel:
    text = loaded.text
    return ServedModel(
        name=routed.name,
        own_name=text.name,
        aliases=tuple(routed.aliases),
        max_context=text.max_context,
        vocab_size=text.tokenizer.vocab_size,
        has_chat_template=text.has_chat_template,
        fingerprint=text.fingerprint,
        weights=routed.weights or "",
        kv_cache=routed.kv_cache or "",
        adapters=tuple(routed.adapters),
        desired_workers=routed.desired_workers,
        unload_after_s=routed.unload_after_s,
        begins_unloaded=routed.begins_unloaded,
        memory=routed.memory,
        tokens=text.tokenizer,
        fits=loaded.fits,
        prompt_probe=loaded.prompt_probe,
    )

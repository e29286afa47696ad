"""The text sides of the service's models, loaded by the router when it starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cactus_actors.config import RouterSettings
from cactus_actors.config_models import RoutedModel
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.confidence_fits import check_gate, fits_for, gate_probe
from cactus_actors.protocol.confidence import SignalFits
from cactus_actors.protocol.errors import ConfigurationInvalid, ModelFileInvalid
from cactus_actors.protocol.prompt_probe import PromptProbe
from cactus_actors.router.preparation.prompt_model import PromptModel
from cactus_actors.router.state.served_model import ServedModel
from cactus_actors.text import load_text_model


@dataclass(frozen=True)
class LoadedModel:
    """The text side of the model of some settings; one without a path exists in this process only."""

    text: PromptModel
    path: Path | None
    routed: RoutedModel
    fits: SignalFits
    prompt_probe: PromptProbe | None = None

    @property
    def name(self) -> str:
        return self.routed.name

    @property
    def served(self) -> ServedModel:
        """The model, for the router's core."""
        text, routed = self.text, self.routed
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
            size=routed.size,
            is_size_fixed=routed.is_size_fixed,
            unload_after_s=routed.unload_after_s,
            begins_unloaded=routed.begins_unloaded,
            memory=routed.memory,
            tokens=text.tokenizer,
            fits=self.fits,
            prompt_probe=self.prompt_probe,
        )


def load_models(settings: RouterSettings, text_model: PromptModel | None = None) -> list[LoadedModel]:
    """Load the models of the service; `text_model` replaces that of the only one.

    Raises ModelFileInvalid, ConfigurationInvalid, which name the model if there are several.
    """
    models = [_load_named(routed, settings, text_model) for routed in settings.served]
    check_gate(settings.gate, (model.prompt_probe for model in models))
    return models


def _load_named(routed: RoutedModel, settings: RouterSettings, text_model: PromptModel | None) -> LoadedModel:
    try:
        return _load(routed, settings, text_model)
    except (ModelFileInvalid, ConfigurationInvalid) as error:
        if not routed.name:
            raise
        raise type(error)(f"model {routed.name}: {error.message}", param=error.param) from None


def _load(routed: RoutedModel, settings: RouterSettings, text_model: PromptModel | None) -> LoadedModel:
    path = resolve_model(routed.model) if text_model is None else None
    text = text_model or load_text_model(resolve_model(routed.model), routed.overrides)
    fits = fits_for(settings.confidence_signal, path, routed.probe_file, routed.probability_file)
    prompt_probe = gate_probe(settings.gate, path, text.fingerprint, routed.prompt_probe_file)
    return LoadedModel(text, path, routed, fits, prompt_probe)

"""The text sides of the models that the service serves, by the names that requests use."""

from __future__ import annotations

from cactus_actors.config import GatewaySettings
from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.errors import ModelNotFound
from cactus_actors.protocol.service_status import AdapterStatus
from cactus_actors.protocol.similar_name import similar_name
from cactus_actors.text import TextModel, load_text_model

MAX_MODEL_NAME = 128


class ServedTexts:
    """`by_name` has the models by the names that they are served under, the default one first."""

    def __init__(self, settings: GatewaySettings, text_model: TextModel | None = None) -> None:
        """Load the models; `text_model` replaces the only one. Raises ModelFileInvalid."""
        self._names: dict[str, str] = {}  # of each alias
        if settings.models:
            self.by_name = {it.name: load_text_model(resolve_model(it.model), it.overrides) for it in settings.models}
            self._names = {alias: it.name for it in settings.models for alias in it.aliases}
            if settings.cascade.tiers:  # its prompts are those of the first tier
                self.by_name[settings.cascade.name] = self.by_name[settings.cascade.models[0]]
        else:
            text = text_model or load_text_model(resolve_model(settings.model), settings.overrides)
            self.by_name = {settings.alias or text.name: text}
            self._names = {text.name: settings.alias or text.name}

    @property
    def first(self) -> str:
        """The name of the default model."""
        return next(iter(self.by_name))

    @property
    def max_context(self) -> int:
        """The longest context of all models."""
        return max(text.max_context for text in self.by_name.values())

    def name_of(self, model: str) -> str | None:
        """The name of the model that has this name or alias; None if there is none."""
        return model if model in self.by_name else self._names.get(model)

    def aliases_of(self, name: str) -> list[str]:
        """The other names of a model."""
        return [alias for alias, model in self._names.items() if model == name != alias]

    def of(self, model: str | None, adapters: list[AdapterStatus]) -> TextModel:
        """The text side for a request's `model`: a name, an alias, or one of the adapters; raises ModelNotFound.

        A service of one model has it for any name.
        """
        if model is None or len(self.by_name) == 1:
            return self.by_name[self.first]
        name = self.name_of(model) or self.name_of(model.rpartition(":")[0])
        name = name or next((adapter.model for adapter in adapters if adapter.name == model), None)
        if name is None:
            hint = similar_name(model, (*self.by_name, *self._names))
            known = ", ".join(self.by_name)
            raise ModelNotFound(f"no model {model[:80]!r}; models of this service: {known}{hint}", param="model")
        return self.by_name[name]

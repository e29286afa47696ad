"""The adapters of the service by name, and the one that a request names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cactus_actors.config_models import AdapterSetting
from cactus_actors.protocol.errors import ModelNotFound
from cactus_actors.protocol.worker_messages import AdapterFiles, Adapters

MAX_SHOWN = 80


class AdapterRegistry:
    """Workers have the adapters of `command`; jobs know theirs by its key, which no other adapter ever has.

    An adapter is prepared, so that workers load it, then published under its name. One that was removed stays with
    the workers while jobs have it.
    """

    def __init__(
        self, epoch: int, served_names: Iterable[str], adapters: Iterable[AdapterSetting], model: str = ""
    ) -> None:
        """`model` is the name of one of several models, for messages."""
        self._epoch = epoch
        self._owner = model or "this service"
        self._num_prepared = 0
        self._served_names = frozenset(served_names) - {""}
        self._files: dict[str, AdapterFiles] = {}  # by key
        self._key_of_name: dict[str, str] = {}
        self._removed: set[str] = set()  # keys
        for adapter in adapters:
            self.publish(adapter.name, self.prepare(adapter.path))

    @property
    def command(self) -> Adapters:
        """All adapters that a worker must have."""
        return Adapters(list(self._files.values()))

    @property
    def is_used(self) -> bool:
        """True if workers may have adapters."""
        return self._num_prepared > 0

    @property
    def has_removed(self) -> bool:
        """True if jobs may still have an adapter that was removed."""
        return bool(self._removed)

    @property
    def paths(self) -> dict[str, str]:
        """The files of the published adapters, by name."""
        return {name: self._files[key].path for name, key in self._key_of_name.items()}

    def named(self, failures: Mapping[str, str]) -> dict[str, str]:
        """The failures of published adapters, by name."""
        return {name: failures[key] for name, key in self._key_of_name.items() if key in failures}

    def path_of(self, name: str) -> str | None:
        """The files of a published adapter; None if there is none of that name."""
        key = self._key_of_name.get(name)
        return None if key is None else self._files[key].path

    def prepare(self, path: str) -> str:
        """Let workers load an adapter; returns its key."""
        self._num_prepared += 1
        key = f"{self._epoch}.{self._num_prepared}"
        self._files[key] = AdapterFiles(key, path)
        return key

    def publish(self, name: str, key: str) -> None:
        """Let jobs have a prepared adapter under a free name."""
        assert name not in self._key_of_name, "ask first"
        self._key_of_name[name] = key

    def discard(self, key: str) -> None:
        """Forget a prepared adapter that was not published."""
        del self._files[key]

    def remove(self, name: str) -> None:
        """Let no more jobs have an adapter; workers keep it until `forget`. Raises ModelNotFound."""
        if name not in self._key_of_name:
            raise self._unknown(name, "name")
        self._removed.add(self._key_of_name.pop(name))

    def forget(self, keys_in_use: Iterable[str]) -> bool:
        """Forget removed adapters that no job has; returns True if workers must be told."""
        unused = self._removed - set(keys_in_use)
        self._removed -= unused
        for key in unused:
            del self._files[key]
        return bool(unused)

    def is_named_by(self, model: str) -> bool:
        """True if a request's `model` is a published adapter, or MODEL:NAME with a name that the model has."""
        return model in self._key_of_name or model.rpartition(":")[0] in self._served_names

    def key_of(self, model: str | None, lora: str | None) -> str:
        """The key of the adapter that a request names, empty if it names none; raises ModelNotFound.

        The option `lora` wins; without it, the model is an adapter's name, or MODEL:NAME with a name that the model is
        served under. Any other model is the service's own.
        """
        if lora is not None:
            return self._key_named(lora, "lora") if lora else ""
        if model is None or model in self._served_names:
            return ""
        if model in self._key_of_name:
            return self._key_of_name[model]
        served, _, name = model.rpartition(":")
        return self._key_named(name, "model") if served in self._served_names else ""

    def _key_named(self, name: str, param: str) -> str:
        if name not in self._key_of_name:
            raise self._unknown(name, param)
        return self._key_of_name[name]

    def _unknown(self, name: str, param: str) -> ModelNotFound:
        known = ", ".join(self._key_of_name) or "none"
        return ModelNotFound(f"no adapter {name[:MAX_SHOWN]!r}; adapters of {self._owner}: {known}", param=param)
